-- Return the revision of the rule book.
SELECT revision FROM rule_book;
