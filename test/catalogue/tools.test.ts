import t from 'tap'
import { isTool } from '../../coordinator/kernel/declaration/declaration.ts'
import { defineSkill, type Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { prompts } from '../../coordinator/surfaces/mcp/prompts/index.ts'
import { toolOf, withoutOutput } from '../../coordinator/surfaces/mcp/tool.ts'
import { createToolFinder } from '../../coordinator/surfaces/mcp/tool-finder.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import { pipelineWith } from '../support/app.ts'

const all = [...skills, ...operations].filter(isTool)
/** Tools that reach addresses of users, sites, devices and other agents. */
const REACH_OUT = new RegExp(
  `^(${[
    ...['host-inet-.*', 'conversations-message', 'mqtt-retained', 'mqtt-subscribe'],
    ...['multi-agent-conversation', '(mavlink|printer)-status'],
    ...['discovery-run-module', 'wireless-full'],
    ...['cockpit-health-check', 'run-test-suite', 'get_tenant_chat_status', 'cost-analysis'],
  ].join('|')})$`,
)

/** Modules reach out, unless they look at the machine itself, and so do their tools that run them. */
const REACHING_MODULES = new Set(
  DISCOVERY_MODULES.filter(({ reach }) => reach !== 'host').flatMap(({ id }) => [
    id,
    `module-${id}-run`,
  ]),
)
const reachesOut = (id: string): boolean => REACH_OUT.test(id) || REACHING_MODULES.has(id)

/** Groups that only people administer, over REST and the command line. */
const NO_TOOLS =
  /^(persons|keys|tenants|tokens|signing-key|webhooks|policy|commands|skills|tags|replicas|upstreams|registers|people|flows|rampup)-|^models-(add|alias|pull|remove|search|show)$|^compliance-report$|^otrs-dashboard$|^tasks-hooks-delete$|^devices-estop-release$|^discovery-|^graph-(import|layers)/

t.test('models are offered every operation except administration', async t => {
  t.strictSame(
    operations.filter(each => !isTool(each)).map(({ id }) => id),
    operations.filter(({ id }) => NO_TOOLS.test(id)).map(({ id }) => id),
  )
  t.ok(skills.every(isTool))
  t.equal(all.filter(({ group }) => group === 'sessions').length, 9, 'the steps of a session')
})

t.test('there are 317 tools: 99 skills, two for each of 30 modules, and operations', async t => {
  const ofModules = operations.filter(({ id }) => /^module-.*-(run|last)$/.test(id))
  t.equal(ofModules.length, 60)
  t.equal(all.length, 317)
})

t.test('a skill is always a tool, so that calls inside other calls reach tools only', async t => {
  const { id, name, tags, description, access, input, output } = skills[0] as Skill
  const spec = { id, name, tags, description, access, input, output, effect: 'read' } as const
  t.equal(defineSkill({ group: 'fleet', ...spec, run: () => ({}) }).tool, undefined)
  // @ts-expect-error: a skill cannot be kept away from language models
  defineSkill({ group: 'fleet', ...spec, tool: false, run: () => ({}) })
  // @ts-expect-error: operations, of which some are no tools, cannot be called by their id
  pipelineWith({ skills: operations })
})

t.test('every tool has one name and one route', async t => {
  t.equal(new Set(all.map(({ id }) => id)).size, all.length)
  t.equal(new Set(all.map(({ method, path }) => `${method} ${path}`)).size, all.length)
})

t.test('every tool is valid for any client and belongs to a toolset', async t => {
  t.match(
    all.map(each => ({ ...toolOf(each), group: each.group })),
    all.map(({ effect, id }) => ({
      name: /^[A-Za-z0-9_.-]{1,128}$/,
      description: /./,
      group: /./,
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      annotations: {
        readOnlyHint: effect === 'read',
        openWorldHint: effect === 'gated' || reachesOut(id),
        ...(effect === 'gated' && { destructiveHint: true }),
      },
    })),
  )
  const schemas = all
    .map(toolOf)
    .flatMap(({ inputSchema, outputSchema }) => [...[inputSchema, outputSchema]])
  t.strictSame(schemas.flatMap(findUnresolved), [])
  t.notMatch(JSON.stringify(schemas), /"items":false/)
})

t.test('every tool is found first by its own name and description', async t => {
  const finder = createToolFinder(all, [])
  const missed = all.filter(({ id, description }) => {
    const { tools } = finder.find(`${id} ${description}`, { limit: 1 })
    return tools[0]?.name !== id
  })
  t.strictSame(
    missed.map(({ id }) => id),
    [],
  )
})

t.test('a list of tools is short enough for a model', async t => {
  t.strictSame(
    all.map(toolOf).filter(({ description = '' }) => description.length > 200),
    [],
  )
  const listed = JSON.stringify(all.map(toolOf).map(withoutOutput)).length
  t.ok(listed < 200_000, `${listed} characters of all tools`)
})

t.test('the prompts name only existing tools', async t => {
  const ids = new Set(all.map(({ id }) => id))
  t.strictSame(
    prompts.flatMap(({ tools }) => tools.filter(tool => !ids.has(tool))),
    [],
  )
})

/** References that lead nowhere in the schema they stand in. */
const findUnresolved = (schema: unknown): string[] => {
  const text = JSON.stringify(schema)
  const references = [...text.matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(
    ([, name = '']) => name,
  )
  const { $defs = {} } = schema as { $defs?: object }
  return references.filter(name => !Object.hasOwn($defs, name))
}
