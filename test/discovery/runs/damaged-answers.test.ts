import t from 'tap'
import { listDamageFaults } from '../../support/damaged-answers.ts'
import { LOOKUP_CASES } from '../../support/lookup-cases.ts'

// `npm run prove -- damaged-answers` gives every value to every place
const DAMAGE = { leaves: 120, valuesPerLeaf: 2 }

for (const each of LOOKUP_CASES)
  t.test(`${each.module} survives any value that ${each.source} may send`, async t => {
    t.same((await listDamageFaults(each, DAMAGE)).slice(0, 5), [])
  })
