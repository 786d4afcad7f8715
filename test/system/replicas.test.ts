import t from 'tap'
import { main as proveHistories } from '../prove/replicas-histories.ts'
import { main as proveKills } from '../prove/replicas-kills.ts'
import { main as proveStreams } from '../prove/replicas-streams.ts'
import { postgresMissing } from '../support/postgres.ts'

/** The full size of these tests is `npm run prove -- replicas`. */
t.test('three coordinators on one PostgreSQL', { skip: postgresMissing }, async t => {
  t.test('give histories that one coordinator could have given', async t => {
    t.ok(await proveHistories(['--clients', '4', '--rounds', '1']))
  })

  t.test('lose nothing and do nothing twice when they are killed', async t => {
    t.ok(await proveKills(['--kills', '2']))
  })

  t.test('lose only the streams of one that is killed', async t => {
    t.ok(await proveStreams(['--streams', '24']))
  })
})
