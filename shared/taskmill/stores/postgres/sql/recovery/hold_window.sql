-- Hold the next step of the window over the age of tasks; nobody else gets it meanwhile.
SELECT
    windows.until AS after,
    LEAST(
        now() - %(behind_seconds)s * '1 second'::interval,
        windows.until + %(step_seconds)s * '1 second'::interval
    ) AS until
FROM windows
WHERE
    windows.name = 'unfinished'
    AND windows.until < now() - %(behind_seconds)s * '1 second'::interval
FOR UPDATE SKIP LOCKED;
