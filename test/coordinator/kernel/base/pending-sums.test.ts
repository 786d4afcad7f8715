import t from 'tap'
import { PendingSums } from '../../../../coordinator/kernel/base/pending-sums.ts'

interface Row {
  name: string
  calls: number
}

const create = (write: (rows: Row[]) => Promise<void>) =>
  new PendingSums<'calls', Row>({ keyOf: ({ name }) => name, sums: ['calls'], write })

t.test('rows with the same key are written as one sum, once', async t => {
  const written: Row[][] = []
  const pending = create(async rows => void written.push(rows))
  for (const name of ['a', 'b', 'a']) pending.add({ name, calls: 1 })
  await pending.flush()
  await pending.flush()
  t.strictSame(written, [
    [
      { name: 'a', calls: 2 },
      { name: 'b', calls: 1 },
    ],
  ])
})

t.test('rows that cannot be written wait for the next call with those added meanwhile', async t => {
  let isFull = true
  const written: Row[] = []
  const pending = create(async rows => {
    if (isFull) throw new Error('full')
    written.push(...rows)
  })
  pending.add({ name: 'a', calls: 1 })
  const failed = pending.flush()
  pending.add({ name: 'a', calls: 2 })
  await t.rejects(failed, { message: 'full' })
  isFull = false
  await pending.flush()
  t.strictSame(written, [{ name: 'a', calls: 3 }])
})
