-- A request that was refused can be marked as dealt with, by whom and when. May run at any time
-- before the code; no row is read or written.
ALTER TABLE enqueued
ADD COLUMN discarded_at timestamptz,
ADD COLUMN discarded_by text,
ADD CONSTRAINT what_is_discarded_says_by_whom CHECK (
    num_nulls(discarded_at, discarded_by) IN (0, 2)
) NOT VALID;
