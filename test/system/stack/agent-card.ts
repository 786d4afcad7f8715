import type { Test } from 'tap'
import type { AnyJson } from '../../support/a2a.ts'
import type { TestStack } from '../../support/stack.ts'

const listBooleans = (value: object): [string, boolean][] =>
  Object.entries(value).filter(([, each]) => typeof each === 'boolean')

export const testAgentCard = async (t: Test, { url }: TestStack): Promise<void> => {
  const card = (await (await fetch(`${url}/.well-known/agent.json`)).json()) as AnyJson
  const { capabilities, swarm, discovery_universe } = card
  const promised = [capabilities, swarm, discovery_universe].flatMap(listBooleans)
  t.strictSame(
    promised.filter(([, isBuilt]) => !isBuilt),
    [],
  )
  t.ok(promised.length >= 11, `${promised.length} promises`)
  t.equal(card.skills.length, 99)
  t.match(discovery_universe, { modules: 30, skills: 27, domains_covered: { length: 7 } })
  t.equal(swarm.mcp_tools, 317)
}
