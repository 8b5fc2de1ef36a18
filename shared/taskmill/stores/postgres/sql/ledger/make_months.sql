-- Create the history's partitions for the coming months; existing ones stay.
SELECT make_months(%(ahead)s) AS made;
