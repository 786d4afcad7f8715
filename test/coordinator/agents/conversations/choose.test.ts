import t from 'tap'
import {
  chooseSpeakers,
  type SpeakingSkill,
} from '../../../../coordinator/agents/conversations/choose.ts'
import type { Participant } from '../../../../coordinator/agents/conversations/conversation.ts'
import {
  findLeadingObject,
  mentions,
} from '../../../../coordinator/agents/conversations/mention.ts'

const people: Participant[] = [
  { id: 'model', type: 'model' },
  { id: 'model-a:7b', type: 'model' },
  { id: 'ada', type: 'person' },
  { id: 'vram-guard', type: 'skill' },
  { id: 'keys-wipe', type: 'skill' },
  { id: 'far.away', type: 'agent', url: 'https://far.away.com/card' },
]
const listMentioned = (text: string) =>
  mentions(text, people).map(({ participant }) => participant.id)

for (const [text, ids] of [
  ['@model-a:7b hello', ['model-a:7b']],
  ['@model-a:7b: hello', ['model-a:7b']],
  ['hello (@model-a:7b).', ['model-a:7b']],
  ['@MODEL-A:7B hello', ['model-a:7b']],
  ['@model and @model-a:7b and @model', ['model', 'model-a:7b']],
  ['@model-a:7 is none', []],
  ['@model-a', []],
  ['@models', []],
  ['ask@model.com', []],
  ['@far.away. Then more', ['far.away']],
  ['@far.awayer', []],
  ['ada', []],
  ['', []],
] as [string, string[]][])
  t.test(`${JSON.stringify(text)} names ${ids.join(' and ') || 'nobody'}`, async t => {
    t.strictSame(listMentioned(text), ids)
  })

t.test('the JSON after a name ends at its closing brace, whatever its strings contain', async t => {
  t.equal(findLeadingObject('  {"a":{"b":"}\\"}"}} rest'), '{"a":{"b":"}\\"}"}}')
  t.equal(findLeadingObject('no {"a":1}'), undefined)
  t.equal(findLeadingObject('{"a":'), '{"a":')
  t.equal(findLeadingObject(''), undefined)
})

const facts: Record<string, SpeakingSkill> = {
  'vram-guard': {
    id: 'vram-guard',
    name: 'VRAM guard',
    description: 'Tell which cells are short of graphics memory.',
    reads: true,
    needsNothing: true,
  },
  'keys-wipe': {
    id: 'keys-wipe',
    name: 'Wipe all keys',
    description: 'Revoke every single key.',
    reads: false,
    needsNothing: true,
  },
}
const choose = (text: string, autoRoute: boolean, participants = people) =>
  chooseSpeakers(text, participants, { autoRoute, skills: id => facts[id] }).map(
    ({ participant, argument }) => [participant.id, argument],
  )

t.test(
  'named participants answer in the order of their names, and people are not answered for',
  async t => {
    t.strictSame(choose('@vram-guard {"x":"@model"} @model-a:7b go', false), [
      ['vram-guard', ' {"x":"@model"} '],
      ['model-a:7b', ' go'],
    ])
    t.strictSame(choose('@ada what do you say?', true), [])
  },
)

t.test('a message without a name is answered only when automatic choice is enabled', async t => {
  t.strictSame(choose('hello', false), [])
  t.strictSame(choose('hello', true), [['model', undefined]])
  const agents = people.filter(({ type }) => type === 'agent')
  t.strictSame(choose('hello', true, agents), [['far.away', undefined]])
  t.strictSame(choose('hello', true, [{ id: 'ada', type: 'person' }]), [])
})

t.test(
  'a skill is chosen only when the text clearly names it, and never one that acts',
  async t => {
    t.strictSame(choose('Does the vram guard see cells short of memory?', true), [
      ['vram-guard', undefined],
    ])
    t.strictSame(choose('what about memory', true), [['model', undefined]])
    t.strictSame(choose('wipe every single one of the keys', true), [['model', undefined]])
  },
)
