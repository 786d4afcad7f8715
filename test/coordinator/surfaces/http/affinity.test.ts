import t from 'tap'
import { affinityOf } from '../../../../coordinator/surfaces/http/affinity.ts'

const LONG = 'a long beginning '.repeat(10)
const CHARS = 100
const chat = (...contents: unknown[]) => ({ messages: contents.map(content => ({ content })) })

t.test('the affinity key of a long prompt', async t => {
  const place = affinityOf(chat(LONG), CHARS)

  t.test('stays the same as the conversation continues', async t => {
    t.ok(Number.isInteger(place) && (place as number) >= 0 && (place as number) < 2 ** 32)
    t.equal(affinityOf(chat(LONG, 'an answer', 'a question'), CHARS), place)
    t.equal(affinityOf(chat(`${LONG} and more`), CHARS), place)
  })

  t.test('differs for another beginning', async t => {
    t.not(affinityOf(chat(`A${LONG}`), CHARS), place)
  })

  t.test('depends on the text, wherever it is placed', async t => {
    for (const body of [
      { system: LONG, messages: [{ content: 'x' }] },
      { prompt: LONG },
      { instructions: LONG },
      { input: LONG },
      { input: [{ content: [{ text: LONG }] }] },
      chat([
        { type: 'text', text: LONG.slice(0, 50) },
        { type: 'text', text: LONG.slice(50) },
      ]),
      chat(null, LONG),
    ])
      t.equal(affinityOf(body, CHARS), place, JSON.stringify(body).slice(0, 40))
  })

  t.test('is absent for a short prompt, or when affinity is disabled', async t => {
    t.equal(affinityOf(chat('short', 'also short'), CHARS), undefined)
    t.equal(affinityOf({ input: [[1, 2, 3]] }, CHARS), undefined)
    t.equal(affinityOf(chat(LONG), 0), undefined)
  })
})
