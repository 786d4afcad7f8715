import t from 'tap'
import { pause, startStack } from '../support/stack.ts'

interface Cell {
  id: string
  presence: string
  drained: boolean
}

t.test('a cell that is taken out of routing', async t => {
  const { url, keys, coordinator, cells, until, stop } = await startStack()
  t.teardown(stop)
  const ask = async (path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${keys.operator}` }
    const response = await fetch(`${url}${path}`, { method, headers })
    return (await response.json()) as { cells: Cell[] }
  }
  /** The one cell, as soon as it is as wanted; while the coordinator starts it is not. */
  const cellIs = async (isRight: (cell: Cell) => boolean): Promise<Cell> => {
    for (;;) {
      const [cell] = await ask('/v1/cells').then(
        answer => answer.cells,
        () => [],
      )
      if (cell !== undefined && isRight(cell)) return cell
      await pause()
    }
  }

  const { id } = await cellIs(cell => cell.presence === 'ready')
  await ask(`/v1/cells/${id}/drain`, 'POST')
  t.match(await until(({ cells }) => cells === 0), { status: 'unavailable' })

  t.test('by an operator stays out over a restart of the coordinator', async t => {
    await coordinator.end('SIGKILL')
    coordinator.start()
    t.match(await cellIs(cell => cell.presence !== 'unknown'), {
      presence: 'draining',
      drained: true,
    })
    await ask(`/v1/cells/${id}/resume`, 'POST')
    t.match(await until(({ status }) => status === 'ok'), { cells: 1 })
  })

  t.test('by its own SIGTERM says so before it is gone', async t => {
    await cells[0]?.end('SIGTERM')
    t.match(await cellIs(cell => cell.presence !== 'ready'), {
      presence: 'draining',
      drained: false,
    })
  })
})
