-- The rule book: what operators set for lanes and types while the system runs; today their pauses.
-- May run at any time before the code.

-- Its revision. Each change takes the next one and holds the row until its commit: whoever sees a
-- revision sees everything up to it.
CREATE TABLE rule_book (
    is_only boolean PRIMARY KEY DEFAULT TRUE,
    revision bigint NOT NULL,
    CONSTRAINT there_is_one_book CHECK (is_only)
);
INSERT INTO rule_book (revision) VALUES (0);

-- A pause that is removed leaves its row: the row's revision says since when it is gone.
CREATE TABLE rules (
    -- What it is about: "lane" with "*" is everything, "type" names a type.
    name text NOT NULL,
    value text NOT NULL,
    revision bigint NOT NULL,
    -- Set while it is paused; without an end until it is resumed.
    paused_at timestamptz,
    paused_until timestamptz,
    paused_by text,
    reason text,
    PRIMARY KEY (name, value),
    CONSTRAINT who_paused_is_known CHECK ((paused_at IS NULL) = (paused_by IS NULL)),
    CONSTRAINT only_a_pause_has_an_end CHECK (paused_at IS NOT NULL OR paused_until IS NULL)
);

GRANT SELECT, UPDATE ON rule_book TO taskmill_app;
GRANT SELECT, INSERT, UPDATE ON rules TO taskmill_app;
