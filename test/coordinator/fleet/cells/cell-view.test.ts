import t from 'tap'
import { type Cell, newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { cellSummaryOf } from '../../../../coordinator/fleet/cells/operations/cell-view.ts'
import type { EnrolledCell } from '../../../../coordinator/fleet/enrolment/cells.ts'
import { engine, sampleOf } from '../series/samples.ts'

t.test('a dead cell shows neither load nor models', async t => {
  const cell = { id: 'c', name: 'c', enrolledAt: 0, tags: [] } as unknown as EnrolledCell
  const live: Cell = {
    ...newCell('c', 1),
    presence: 'ready',
    sample: sampleOf(0, { engines: [engine(0, { slots: 4, slots_busy: 1 })] }),
  }
  const viewOf = (presence: Cell['presence']) =>
    cellSummaryOf(cell, { ...live, presence }, { labels: {} })
  t.match(viewOf('ready'), { slots_busy_percent: 25, models: ['m'] })
  t.match(viewOf('dead'), { slots_busy_percent: null, models: [] })
})
