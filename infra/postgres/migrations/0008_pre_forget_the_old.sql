-- What was kept long enough is removed, by functions of the owner: the application itself can add to
-- the history and cannot rewrite it, and they take nothing that is young. May run at any time before
-- the code.
CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

CREATE FUNCTION old_enough(before timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = public, pg_temp AS $$
SELECT LEAST(before, now() - '4 days'::interval)
$$;

-- Tasks that ended, with their dead letters, however old they were then.
CREATE FUNCTION forget_tasks(before timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
WITH gone AS (
    DELETE FROM tasks
    WHERE id IN (
        SELECT id FROM tasks
        WHERE created_at < old_enough(before) AND finished_at < old_enough(before)
        ORDER BY created_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    RETURNING id
),

left_behind AS (
    DELETE FROM unfinished WHERE task_id IN (SELECT id FROM gone)
),

jobs AS (
    DELETE FROM redrive_jobs
    WHERE created_at < old_enough(before) AND state IN ('stopped', 'done')
)

SELECT count(*) FROM gone
$$;

-- Whole months of the history, and what lies outside of them.
CREATE FUNCTION forget_history(before timestamptz, most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    month record;
    removed bigint;
BEGIN
    DELETE FROM facts_outside_months
    WHERE ctid IN (
        SELECT ctid FROM facts_outside_months WHERE at < old_enough(before) LIMIT most
    );
    GET DIAGNOSTICS removed = ROW_COUNT;
    FOR month IN
        SELECT relid::regclass AS name
        FROM pg_partition_tree('facts')
        WHERE
            relid::regclass::text ~ '^facts_\d{4}_\d{2}$'
            AND (to_date(right(relid::regclass::text, 7), 'YYYY_MM') + '1 month'::interval)
                AT TIME ZONE 'UTC' <= old_enough(before)
    LOOP
        EXECUTE format('DROP TABLE %s', month.name);
        removed := removed + 1;
    END LOOP;
    RETURN removed;
END
$$;

CREATE FUNCTION forget_quarantine(before timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
WITH gone AS (
    DELETE FROM quarantine
    WHERE (topic, partition, "offset", member) IN (
        SELECT topic, partition, "offset", member FROM quarantine
        WHERE at < old_enough(before)
        ORDER BY at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    RETURNING 1
)

SELECT count(*) FROM gone
$$;

-- Rows that were published; the log has had them since.
CREATE FUNCTION forget_outbox(before timestamptz, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
WITH gone AS (
    DELETE FROM outbox
    WHERE id IN (
        SELECT id FROM outbox
        WHERE published_at < old_enough(before)
        ORDER BY published_at
        LIMIT most
        FOR UPDATE SKIP LOCKED
    )
    RETURNING 1
)

SELECT count(*) FROM gone
$$;

-- The months to come; one whose facts came before it stays where they are.
CREATE FUNCTION make_months(ahead integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first timestamp;
    name text;
    made bigint := 0;
BEGIN
    FOR first IN
        SELECT generate_series(
            date_trunc('month', now() AT TIME ZONE 'UTC'),
            (now() AT TIME ZONE 'UTC') + make_interval(months => ahead),
            '1 month'
        )
    LOOP
        name := 'facts_' || to_char(first, 'YYYY_MM');
        CONTINUE WHEN to_regclass(name) IS NOT NULL;
        BEGIN
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF facts FOR VALUES FROM (%L) TO (%L)',
                name, first || '+00', (first + '1 month'::interval) || '+00'
            );
            made := made + 1;
        EXCEPTION WHEN check_violation OR duplicate_table THEN
            NULL;
        END;
    END LOOP;
    RETURN made;
END
$$;

REVOKE EXECUTE ON FUNCTION
forget_tasks, forget_history, forget_quarantine, forget_outbox, make_months FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
forget_tasks, forget_history, forget_quarantine, forget_outbox, make_months TO taskmill_app;
