-- Let nobody else change a rule before the end of this transaction.
SELECT revision FROM rule_book
FOR UPDATE;
