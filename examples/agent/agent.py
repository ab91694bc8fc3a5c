"""An agent's own process: what a model would decide is written down here, so that it needs none.

Each call of a tool looks like any other call. With CODE_SANDBOX_URL, CODE_SANDBOX_KEY and CODE_SANDBOX_AGENT set it runs
in a sandbox made from the agent's image.
"""

import os
from decimal import Decimal

from code_sandbox import ToolError, conversation, last_call

from tools import Loan, monthly_payment, never_end, where_am_i


def main() -> None:
    with conversation("example"):
        payment = monthly_payment(Loan(Decimal("12000"), Decimal("0.05"), 24))
        print(f"each month {payment.each_month}, interest {payment.interest}")

        try:
            monthly_payment(Loan(Decimal(1), Decimal(0), 0))
        except ValueError as problem:
            print(f"ValueError: {problem}")

        place = where_am_i()
        print("elsewhere:", place.pid_namespace != os.readlink("/proc/self/ns/pid"))
        call = last_call()
        print("sandbox:", call.sandbox_id if call else None)
        print("the key is there:", any(name.startswith("CODE_SANDBOX_") for name in place.environment))

        if call:  # where it does no harm
            try:
                never_end()
            except ToolError as problem:
                print(f"{problem.outcome}: {problem.message}")


if __name__ == "__main__":
    main()
