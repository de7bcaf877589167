"""Async tests."""
import asyncio


def drive(scenario):
    """Runs an async test. An exception that nobody asked about is a failure."""
    lost = []

    async def run():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context))
        await scenario
        await asyncio.sleep(0.02)

    asyncio.run(run())
    assert not lost
