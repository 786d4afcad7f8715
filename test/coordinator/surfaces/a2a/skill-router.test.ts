import t from 'tap'
import { routeText } from '../../../../coordinator/surfaces/a2a/skill-router.ts'
import { testSkills } from '../../../support/a2a-skills.ts'

const { skills } = testSkills()

t.test('a text is routed to the skill that it names', async t => {
  t.equal(routeText('please let the echo chamber speak', skills).skill?.id, 'test-echo')
  t.equal(routeText('Ask (test-open)!', skills).skill?.id, 'test-open')
  t.equal(routeText('test-slow', skills).skill, undefined, 'what acts must be asked for')
})

t.test('only the beginning of an overlong text is examined', async t => {
  const filler = Array.from({ length: 60_000 }, (_, at) => at.toString(36)).join(' ')
  const { skill, candidates } = routeText(`${filler} echo chamber`, skills)
  t.equal(skill, undefined)
  t.strictSame(candidates, [])
  t.equal(routeText(`echo chamber ${filler}`, skills).skill?.id, 'test-echo')
})
