-- Let go of what this transaction holds, should its process say nothing for so long.
SELECT set_config('idle_in_transaction_session_timeout', %(ms)s::text, TRUE);
