import t from 'tap'
import { createEpochs } from '../../../../coordinator/fleet/enrolment/epochs.ts'

t.test('the epochs of cells', async t => {
  const rig = (noteEpoch: (cellId: string, epoch: number) => Promise<number>) => {
    const scheduled: (() => void)[] = []
    const errors: unknown[] = []
    const logger = { error: (details: unknown) => void errors.push(details) }
    const callAfter = (_milliseconds: number, run: () => void) => {
      scheduled.push(run)
      return () => {}
    }
    return { ...createEpochs({ noteEpoch, logger, callAfter }), scheduled, errors }
  }

  t.test('are written in one batch, the highest of each cell', async t => {
    const written: unknown[] = []
    const { note, flush, scheduled } = rig(async (cellId, epoch) => written.push([cellId, epoch]))
    note('a', 2)
    note('b', 7)
    note('a', 1)
    t.strictSame([written, scheduled.length], [[], 1])
    scheduled[0]?.()
    t.strictSame(written, [
      ['a', 2],
      ['b', 7],
    ])
    await flush()
    t.equal(written.length, 2)
    note('a', 3)
    t.equal(scheduled.length, 2)
  })

  t.test('that cannot be written are reported and do not block others', async t => {
    const written: string[] = []
    const { note, flush, errors } = rig(async cellId => {
      if (cellId === 'a') throw new Error('disk full')
      return written.push(cellId)
    })
    note('a', 1)
    note('b', 1)
    await flush()
    t.strictSame(written, ['b'])
    t.match(errors, [{ cell: 'a' }])
  })
})
