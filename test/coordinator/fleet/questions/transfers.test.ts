import t from 'tap'
import {
  LEAST_BYTES_PER_SWEEP,
  Transfer,
  Transfers,
} from '../../../../coordinator/fleet/questions/transfers.ts'

const GRACE = 3

/** Counts the sweeps until a transfer stalls that advances by these bytes before each; 100 at most. */
const countSweeps = (bytesBefore: (sweep: number) => number): number => {
  const transfers = new Transfers()
  let isStalled = false
  const transfer = new Transfer(GRACE, () => {
    isStalled = true
  })
  transfers.start(transfer)
  let sweeps = 0
  while (!isStalled && sweeps < 100) {
    transfer.advance(bytesBefore(sweeps++))
    transfers.sweep()
  }
  return sweeps
}

t.test('a transfer is judged by its bytes per time and not by activity', async t => {
  t.equal(
    countSweeps(() => 0),
    GRACE + 1,
    'the first sweep may follow the start at once',
  )
  t.equal(
    countSweeps(() => 1),
    GRACE + 1,
  )
  t.equal(
    countSweeps(() => LEAST_BYTES_PER_SWEEP),
    100,
    'the minimum is enough',
  )
  const burst = (sweep: number) => (sweep === 2 ? GRACE * LEAST_BYTES_PER_SWEEP : 0)
  t.equal(
    countSweeps(burst),
    3 + GRACE,
    'a burst begins the next grace and gives no credit beyond it',
  )
})

t.test('a transfer that has ended is not judged', async t => {
  const transfers = new Transfers()
  const transfer = new Transfer(1, () => t.fail('judged'))
  transfers.start(transfer)
  transfers.end(transfer)
  for (let i = 0; i < 3; i++) transfers.sweep()
})
