-- Remove some of what was kept long enough; the owner's function decides what that is.
SELECT forget_outbox(now() - %(seconds)s * '1 second'::interval, %(most)s) AS removed;
