import fc from 'fast-check'
import t from 'tap'
import { openReferenceGame, worlds } from '../../../support/reference-game.ts'

const RUN = { numRuns: 1, seed: 27, endOnFailure: true }

t.test('no reference reaches another device than those it names, on any surface', async t => {
  const { play, tally } = await openReferenceGame(t)
  await fc.assert(fc.asyncProperty(worlds, play), RUN)
  t.equal(tally.worlds, 1)
  t.ok(tally.devices > 0 && tally.refused > 0, 'some were served, and some refused')
  t.ok(tally.reached > 0)
})

t.test('a coordinator where the first match takes a reference is found out', async t => {
  const { play } = await openReferenceGame(t, devices => {
    const find = devices.find.bind(devices)
    devices.find = reference => devices.matchEvery(reference)[0] ?? find(reference)
  })
  const found = fc.assert(fc.asyncProperty(worlds, play), RUN)
  await t.rejects(found, { cause: { message: /^run of / } })
})
