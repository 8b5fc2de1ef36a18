-- Take the revision after this one, unless the rule book is beyond it.
UPDATE rule_book
SET revision = %(revision)s::bigint + 1
WHERE revision <= %(revision)s::bigint
RETURNING revision;
