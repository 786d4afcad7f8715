import t from 'tap'
import { HISTORY_FLAGS, proveHistories } from '../prove/replicas-histories.ts'
import { proveKills } from '../prove/replicas-kills.ts'
import { proveStreams } from '../prove/replicas-streams.ts'
import { Receiver } from '../prove/support/deliveries.ts'
import { ReplicaSet } from '../prove/support/replica-set.ts'
import { postgresMissing } from '../support/postgres.ts'

/** The full size of these tests is `npm run prove -- replicas`. */
t.test('three coordinators on one PostgreSQL', { skip: postgresMissing }, async t => {
  const receiver = await Receiver.open()
  t.teardown(() => receiver.close())
  const flags = [...HISTORY_FLAGS, ...receiver.flags]
  const set = await ReplicaSet.start({ flags, isOnSharedCluster: true })
  t.teardown(() => set.stop())

  await t.test('give histories that one coordinator could have given', async t => {
    t.ok(await proveHistories(set, { clients: 4, rounds: 1 }))
  })

  await t.test('lose only the streams of one that is killed', async t => {
    t.ok(await proveStreams(set, 24))
    await set.restart(0)
  })

  await t.test('lose nothing and do nothing twice when one is killed', async t => {
    t.ok(await proveKills(set, receiver, { kills: 1, restMs: 100 }))
  })
})
