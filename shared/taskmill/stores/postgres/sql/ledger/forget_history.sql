-- Delete some rows after their retention time, which the owner's function decides.
SELECT forget_history(now() - %(seconds)s * '1 second'::interval, %(most)s) AS removed;
