import t from 'tap'
import { invocationOf } from '../../../../coordinator/surfaces/a2a/invocation.ts'

const parseInvocation = (text: string) =>
  invocationOf({ messageId: 'm', role: 'user', parts: [{ text }] })

t.test('a skill and its input can be given in plain text', async t => {
  t.match(parseInvocation('test-echo {"words":"a"}'), { skill: 'test-echo', input: { words: 'a' } })
  t.match(parseInvocation('{"words":"a"}'), { skill: undefined, input: { words: 'a' } })
})

t.test('JSON inside a text has the limits of a body', async t => {
  const deep = `{"words":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  for (const input of [deep, '{"__proto__":{"a":1}}', '{no}']) {
    t.throws(() => parseInvocation(`test-echo ${input}`), { name: 'RequestMalformedError' })
    t.equal(parseInvocation(input).input, undefined)
  }
})
