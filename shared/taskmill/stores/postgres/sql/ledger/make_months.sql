-- Make the months of the history that are to come; those that are there stay.
SELECT make_months(%(ahead)s) AS made;
