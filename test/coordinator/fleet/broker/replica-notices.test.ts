import t from 'tap'
import { ReplicaNotices } from '../../../../coordinator/fleet/broker/replica-notices.ts'
import { ReplicasBody } from '../../../../shared/wire/replicas.ts'
import { silent } from '../../../support/cell.ts'

/** Cells of these levels, and what each was told. */
const createNoticeRig = (levels: readonly (number | undefined)[], ids: string[] = ['rep_a']) => {
  const told: [cellId: string, body: ReplicasBody][] = []
  const cells = levels.map((capability, n) => ({
    id: `cell_${n}`,
    presence: 'ready',
    announce: capability === undefined ? undefined : { capability },
  }))
  const live = ids.map(id => ({ id, address: id === 'rep_b' ? 'https://b' : undefined }))
  const pauses: number[] = []
  const rig = { onPause: () => {} }
  const notices = new ReplicaNotices({
    bus: {
      publish: async (_topic: string, id: string, _type: string, body: unknown) =>
        void told.push([id, ReplicasBody.parse(body)]),
    },
    fleet: {
      cells: () => cells.values(),
      cell: (wanted: string) => cells.find(({ id }) => id === wanted),
    },
    replicas: { id: ids[0], live: () => live },
    wait: async (milliseconds: number) => {
      pauses.push(milliseconds)
      rig.onPause()
    },
    logger: silent,
  } as never)
  return Object.assign(rig, { notices, told, pauses })
}

t.test('a cell that knows several coordinators learns which ones live', async t => {
  const { notices, told } = createNoticeRig([5, 4, undefined], ['rep_a', 'rep_b'])
  for (const id of ['cell_0', 'cell_1', 'cell_2', 'cell_9']) notices.tell(id)
  const replicas = [{ id: 'rep_a' }, { id: 'rep_b', address: 'https://b' }]
  t.strictSame(told, [['cell_0', { id: 'rep_a', replicas }]])
})

t.test('a cell is told of five coordinators at most, and all name the same ones', async t => {
  const ids = ['rep_1', 'rep_2', 'rep_3', 'rep_4', 'rep_5', 'rep_6', 'rep_7']
  const lists = ids.map(id => {
    const { notices, told } = createNoticeRig([5], [id, ...ids.filter(other => other !== id)])
    notices.tell('cell_0')
    return told[0]?.[1].replicas.map(({ id }) => id) ?? []
  })
  for (const [n, list] of lists.entries()) {
    t.equal(list.length, 5)
    t.ok(list.includes(ids[n] as string), 'the sender is among them')
  }
  const agreed = new Set(lists.map(list => list.toSorted().join()))
  t.equal(agreed.size, 3, 'the five chosen ones agree, and the two others name themselves too')
})

t.test('a change is told to all cells over a short time, and only the newest one', async t => {
  const rig = createNoticeRig(Array.from({ length: 250 }, () => 5))
  await rig.notices.tellAll()
  t.equal(new Set(rig.told.map(([id]) => id)).size, 250)
  t.strictSame(rig.pauses, [20, 20, 20])
  rig.told.length = 0
  let newest: Promise<void> | undefined
  rig.onPause = () => {
    rig.onPause = () => {}
    newest = rig.notices.tellAll()
  }
  await rig.notices.tellAll()
  await newest
  t.equal(rig.told.length, 100 + 250, 'the first round ends where the second begins')
})
