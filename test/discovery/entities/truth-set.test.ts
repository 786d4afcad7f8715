import t from 'tap'
import { scoreWorld } from '../../support/truth-set.ts'

t.test('the registry finds the things of generated worlds', async t => {
  for (const seed of [1, 2, 3, Date.now() % 1_000_000]) {
    const { f1, spoofedPrecision, contradictions, mistakes } = scoreWorld(seed, 40, 8)
    t.ok(f1 >= 0.98, `seed ${seed}: pairwise F1 ${f1.toFixed(4)}\n${mistakes.join('\n')}`)
    t.ok(spoofedPrecision >= 0.98, `seed ${seed}: spoofed hosts ${spoofedPrecision}`)
    t.equal(contradictions, 0, `seed ${seed}: no thing has two values of one exclusive key`)
  }
})
