import type { Test } from 'tap'
import type { TestStack } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Cell {
  id: string
  presence: string
  drained: boolean
}

/** Kills the coordinator and starts it again; the cell is stopped at the end. */
export const testDraining = async (t: Test, stack: TestStack): Promise<void> => {
  const { url, keys, coordinator, cells, waitForHealth } = stack
  const ask = async (path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${keys.operator}` }
    const response = await fetch(`${url}${path}`, { method, headers })
    return (await response.json()) as { cells: Cell[]; alerts: { rule: string }[] }
  }
  /** The cell, once it is right; while the coordinator starts there is none. */
  const cellIs = (isRight: (cell: Cell) => boolean): Promise<Cell> =>
    waitUntil('the cell is as the test needs it', async () => {
      const { cells = [] } = await ask('/v1/cells').catch(() => ({ cells: [] }))
      return cells.find(isRight)
    })

  const { id } = await cellIs(cell => cell.presence === 'ready')
  await ask(`/v1/cells/${id}/drain`, 'POST')
  t.match(await waitForHealth(({ cells }) => cells === 0), { status: 'unavailable' })

  t.test('by an operator persists across a restart of the coordinator', async t => {
    await coordinator.end('SIGKILL')
    coordinator.start()
    t.match(await cellIs(cell => cell.presence !== 'unknown'), {
      presence: 'draining',
      drained: true,
    })
    await ask(`/v1/cells/${id}/resume`, 'POST')
    t.match(await waitForHealth(({ status }) => status === 'ok'), { cells: 1 })
  })

  t.test('by its own SIGTERM ends as stopped, without an alert about the cell', async t => {
    await cells[0]?.end('SIGTERM')
    t.match(await cellIs(({ presence }) => !['ready', 'draining'].includes(presence)), {
      presence: 'stopped',
      drained: false,
      models: [],
    })
    const { alerts } = await ask('/v1/alerts')
    t.notOk(alerts.some(({ rule }) => rule === 'cell_lost'))
    await coordinator.end('SIGKILL')
    coordinator.start()
    t.match(await cellIs(() => true), { presence: 'stopped' }, 'a restart forgets nothing')
  })
}
