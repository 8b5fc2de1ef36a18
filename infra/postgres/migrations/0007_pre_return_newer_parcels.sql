-- Parcels of a newer version wait in quarantine until this code reads them. May run at any time
-- before the code.
ALTER TABLE quarantine ADD COLUMN version integer;

CREATE INDEX quarantine_of_newer_versions ON quarantine (version, at)
WHERE version IS NOT NULL AND discarded_at IS NULL;
