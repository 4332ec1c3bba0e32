"""Decides when to retry and when to give up, as client/cpp/retry.h does.

What may pass is retried, with growing pauses, until `patience` seconds have passed since the last progress:

    retry = Retry(patience)
    while True:
        try:
            return attempt()
        except Error as error:
            time.sleep(retry.pause_after(error))
"""

from __future__ import annotations

import time
from typing import Callable

from quotient.errors import Error, may_pass

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0


class Retry:
    def __init__(self, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._clock = clock
        self.progressed()

    def progressed(self) -> None:
        """Restarts the time limit and the pauses, because the attempt has made progress."""
        self._give_up = self._clock() + self._patience
        self._pause = FIRST_PAUSE

    def pause_after(self, error: Error) -> float:
        """The seconds to wait before the next attempt. Raises the error if there should be none."""
        left = self._give_up - self._clock()
        if not may_pass(error) or left <= 0:
            raise error
        pause = min(self._pause, left)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return pause
