-- Moments that a request cannot say and spans that it may not ask for are errors of the statement,
-- no longer requests that are parked. May run at any time before the code.

-- A moment as a request tells it: years have four digits and no era.
CREATE OR REPLACE FUNCTION taskmill.moment(argument text, told timestamptz) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT isfinite(told) THEN
        PERFORM taskmill.refuse(
            'invalid_request', argument, argument || ' is infinite', 'Name a moment.'
        );
    ELSIF extract(YEAR FROM told AT TIME ZONE 'UTC') NOT BETWEEN 1 AND 9999 THEN
        PERFORM taskmill.refuse(
            'invalid_request', argument,
            format('%s is %s; years run from 1 to 9999', argument, told AT TIME ZONE 'UTC'),
            'Check the year and the era.'
        );
    END IF;
    RETURN to_json(
        regexp_replace(
            to_char(told AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '\.?0*Z$', 'Z'
        )
    );
END
$$;

-- A number as a request tells it, within the limits of its field.
CREATE OR REPLACE FUNCTION taskmill.number(argument text, told double precision) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
BEGIN
    IF told IN ('NaN', 'Infinity', '-Infinity') THEN
        PERFORM taskmill.refuse(
            'invalid_request', argument, argument || ' is no number', 'Name a number of seconds.'
        );
    END IF;
    PERFORM taskmill.refuse(
        'invalid_request', argument,
        format('%s is %s; it lies between %s and %s', argument, told, field.least, field.most),
        'Name a number of seconds within these limits.'
    )
    FROM (
        VALUES ('delay_seconds', 0, 34560000), ('timeout_seconds', 0.1, 800)
    ) AS field (name, least, most)
    WHERE field.name = argument AND told NOT BETWEEN field.least AND field.most;
    RETURN told::text::json;
END
$$;
