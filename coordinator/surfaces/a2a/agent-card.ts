import { VERSION } from '../../../shared/version.ts'
import { type JsonSchema, jsonSchema } from '../../kernel/declaration/json-schema.ts'
import type { Skill } from '../../kernel/declaration/skill.ts'
import { type CardFacts, capabilities, discoveryUniverse, swarm } from './card-features.ts'
import { EXTENSIONS } from './extensions.ts'

/** Addresses on the card. Only that of MCP ends with a slash. */
interface CardAddresses {
  base: string
  a2a: string
  mcp: string
  docs: string
  portal: string | undefined
}

export interface CardParts extends CardFacts {
  addresses: CardAddresses
  provider: { organization: string; url: string }
}

const DESCRIPTION =
  'One service out of a fleet of GPU cells, robots and edge devices: inference, fleet monitoring, ' +
  'discovery, device control and human-approval gates. Governed; designed to comply with the EU ' +
  'AI Act (Regulation (EU) 2024/1689), evidence at links.documentation.'

/**
 * The agent card, with the fields of A2A 0.1 to 1.0 and shoal's own in one document. Counts,
 * booleans and bindings are derived from the registered parts. Version 0.1 has `authentication`,
 * 0.2 and 0.3 have `security` with `protocolVersion`, 1.0 has `supportedInterfaces` with
 * `securityRequirements`; readers ignore unknown fields (A2A specification 1.0, section 5.7).
 */
export const agentCard = (parts: CardParts): Record<string, unknown> => {
  const { addresses, provider, skills } = parts
  const { a2a, mcp, docs, portal } = addresses
  const bound = parts.built.has('a2a-bindings')
  return {
    name: 'shoal',
    description: DESCRIPTION,
    url: a2a,
    version: VERSION,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    additionalInterfaces: bound ? olderInterfaces(a2a) : [],
    supportedInterfaces: bound ? interfaces(a2a) : [],
    provider,
    documentationUrl: docs,
    capabilities: {
      ...capabilities(parts),
      ...(bound ? { extendedAgentCard: true, extensions: extensions(parts) } : {}),
    },
    ...(bound ? { supportsAuthenticatedExtendedCard: true } : {}),
    authentication: { schemes: ['Bearer', 'None'] },
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        httpAuthSecurityScheme: BEARER,
      },
    },
    security: [{ bearer: [] }, {}],
    securityRequirements: REQUIREMENTS,
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['application/json'],
    skills: skills.map(cardSkill),
    swarm: swarm(parts, mcp),
    discovery_universe: discoveryUniverse(parts),
    links: {
      documentation: docs,
      agent_card: `${a2a}/.well-known/agent.json`,
      health: `${a2a}/health`,
      discovery: `${a2a}/a2a/discovery`,
      ...(portal === undefined ? {} : { portal }),
    },
  }
}

/**
 * The card with the fields of a2a.proto 1.0 only; shoal's additions are in the extensions. The list
 * of skills can be shorter for some readers; the capabilities of the agent are the same for all.
 */
export const pureCard = (
  parts: CardParts,
  listed: readonly Skill[] = parts.skills,
): Record<string, unknown> => {
  const { addresses, provider } = parts
  const { streaming, pushNotifications } = capabilities(parts)
  return {
    name: 'shoal',
    description: DESCRIPTION,
    supportedInterfaces: interfaces(addresses.a2a),
    provider,
    version: VERSION,
    documentationUrl: addresses.docs,
    capabilities: {
      streaming,
      pushNotifications,
      extensions: extensions(parts),
      extendedAgentCard: true,
    },
    securitySchemes: { bearer: { httpAuthSecurityScheme: BEARER } },
    securityRequirements: REQUIREMENTS,
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['application/json'],
    skills: listed.map(({ id, name, description, tags, card }) => ({
      id,
      name,
      description,
      tags,
      ...(card.examples === undefined ? {} : { examples: card.examples }),
    })),
  }
}

const BEARER = { scheme: 'Bearer', bearerFormat: 'svc-dev-*' }
const REQUIREMENTS = [{ schemes: { bearer: { list: [] } } }, { schemes: {} }]

/** Interfaces in order of preference. */
const interfaces = (a2a: string) =>
  (['1.0', '0.3'] as const).flatMap(protocolVersion => [
    { url: `${a2a}/a2a`, protocolBinding: 'JSONRPC', protocolVersion },
    { url: `${a2a}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
  ])

const olderInterfaces = (a2a: string) => [
  { url: `${a2a}/a2a`, transport: 'JSONRPC' },
  { url: `${a2a}/a2a/rest`, transport: 'HTTP+JSON' },
]

const extensions = (parts: CardParts): object[] => {
  const { built, addresses } = parts
  const { streaming: _, pushNotifications: __, ...own } = capabilities(parts)
  return [
    extension(EXTENSIONS.invocation, 'A data part {skill, input} calls a skill.'),
    extension(EXTENSIONS.schemas, 'Input and output schemas of every skill.', {
      schemas_url: `${addresses.base}/v1/skills`,
    }),
    ...(built.has('a2a-history')
      ? [extension(EXTENSIONS.transitions, 'State transitions of a task, in its metadata.')]
      : []),
    extension(EXTENSIONS.gates, 'A task that needs human approval waits in state AUTH_REQUIRED.'),
    extension(EXTENSIONS.swarm, 'The fleet behind this agent.', {
      ...own,
      swarm: swarm(parts, addresses.mcp),
      discovery_universe: discoveryUniverse(parts),
    }),
  ]
}

const extension = (uri: string, description: string, params?: object): object => ({
  uri,
  description,
  required: false,
  ...(params === undefined ? {} : { params }),
})

/** One entry of `skills`: a skill without input has a schema without properties. */
export const cardSkill = ({ id, name, description, tags, publishesInput, input, card }: Skill) => ({
  id,
  name,
  description,
  tags,
  ...card,
  ...(publishesInput ? { input_schema: fieldsOf(jsonSchema(input)) } : {}),
})

/**
 * Fields of the schema only; `GET /v1/skills/{id}` states that additional properties are rejected.
 */
const fieldsOf = ({ additionalProperties: _, ...fields }: JsonSchema): JsonSchema => fields
