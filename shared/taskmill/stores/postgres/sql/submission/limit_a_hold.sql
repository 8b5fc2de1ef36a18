-- Release this transaction's locks if its process stays silent for this long.
SELECT set_config('idle_in_transaction_session_timeout', %(ms)s::text, TRUE);
