import t, { type Test } from 'tap'
import {
  CellStarts,
  COMPARE_STARTS_SECONDS,
} from '../../../../coordinator/fleet/enrolment/cell-starts.ts'
import { createReplicaSet } from '../../../support/replicas.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

/** Two coordinators on one store, and one cell. */
const openScene = async (t: Test) => {
  let now = 1_000_000
  const clones: string[] = []
  const { ledger } = await temporaryStore(t, undefined, { now: () => now })
  const set = createReplicaSet()
  const join = () => {
    const cell = { presence: 'dead' }
    const starts = new CellStarts({
      ledger,
      replicas: set.join(),
      fleet: { cell: () => cell },
      silenceMs: 7500,
      onClone: (id: string) => clones.push(id),
      nowMs: () => now,
    } as never)
    /** A start of the daemon connects; without one the connection ends. */
    const connect = (bootId?: string) => {
      cell.presence = bootId === undefined ? 'dead' : 'ready'
      if (bootId !== undefined) starts.noteConnection('cell', bootId)
    }
    return { starts, connect }
  }
  const [a, b] = [join(), join()]
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left -= COMPARE_STARTS_SECONDS) {
      now += COMPARE_STARTS_SECONDS * 1000
      await a.starts.compare()
      await b.starts.compare()
    }
  }
  const stall = (milliseconds: number) => {
    now += milliseconds
  }
  return { a, b, clones, pass, stall, ledger }
}

t.test('two machines that stay connected to different coordinators are found', async t => {
  const { a, b, clones, pass } = await openScene(t)
  a.connect('original')
  await pass(600)
  b.connect('copy')
  await pass(20)
  t.strictSame(clones, [], 'the connection of a start that died may look alive as long')
  await pass(20)
  t.strictSame(clones, ['cell'])
  a.connect()
  b.starts.forget('cell')
  a.starts.forget('cell')
  b.connect('original')
  await pass(60)
  t.strictSame(clones, ['cell'], 'what was found before counts once')
})

t.test('one machine is not taken for two', async t => {
  t.test('when it starts again and meets the coordinators one after the other', async t => {
    const { a, b, clones, pass } = await openScene(t)
    a.connect('first')
    b.connect('first')
    await pass(60)
    b.connect('second')
    await pass(5)
    a.connect()
    await pass(60)
    a.connect('second')
    await pass(120)
    t.strictSame(clones, [])
  })

  t.test('when a coordinator stood still and has not noticed that the old start died', async t => {
    const { a, b, clones, pass, stall } = await openScene(t)
    a.connect('first')
    await pass(60)
    b.connect('second')
    await b.starts.compare()
    stall(60_000)
    await a.starts.compare()
    a.connect()
    await pass(60)
    t.strictSame(clones, [])
  })
})

t.test('starts are not stored for longer than they are compared', async t => {
  const { a, b, pass, ledger } = await openScene(t)
  a.connect('first')
  b.connect('first')
  const count = async () =>
    (await ledger.read.selectFrom('cell_starts').selectAll().execute()).length
  await pass(5)
  t.equal(await count(), 1)
  await pass(130)
  t.equal(await count(), 0)
})
