import { VERSION } from '../../shared/version.ts'
import { type JsonSchema, jsonSchema } from '../operations/json-schema.ts'
import type { Skill } from '../skills/skill.ts'
import { capabilities, discoveryUniverse, type Registered, swarm } from './card-features.ts'

/** Where the card sends its reader. No address ends with a slash but that of MCP. */
export interface CardAddresses {
  base: string
  a2a: string
  mcp: string
  docs: string
  portal: string | undefined
}

export interface CardParts extends Registered {
  addresses: CardAddresses
  provider: { organization: string; url: string }
}

const DESCRIPTION =
  'One service out of a fleet of GPU cells, robots and edge devices: inference, fleet monitoring, ' +
  'discovery, device control and human-approval gates. Governed; designed to comply with the EU ' +
  'AI Act (Regulation (EU) 2024/1689), evidence at links.documentation.'

/**
 * The agent card: the fields of A2A 0.1 to 1.0 and our own in one document. Counts, booleans and
 * the bindings follow from what is registered. The 0.1 form has `authentication`, 0.2 and 0.3
 * `security` with `protocolVersion`, 1.0 `supportedInterfaces` with `securityRequirements`; readers
 * skip what they do not know (A2A specification 1.0, section 5.7).
 */
export const agentCard = (parts: CardParts): Record<string, unknown> => {
  const { addresses, provider, skills } = parts
  const { a2a, mcp, docs, portal } = addresses
  return {
    name: 'shoal',
    description: DESCRIPTION,
    url: a2a,
    version: VERSION,
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [],
    supportedInterfaces: [],
    provider,
    documentationUrl: docs,
    capabilities: capabilities(parts),
    authentication: { schemes: ['Bearer', 'None'] },
    securitySchemes: {
      bearer: {
        type: 'http',
        scheme: 'bearer',
        httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'svc-dev-*' },
      },
    },
    security: [{ bearer: [] }, {}],
    securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: {} }],
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

/** One entry of `skills`: a skill without input has a schema without properties. */
export const cardSkill = ({ id, name, description, tags, publishesInput, input, card }: Skill) => ({
  id,
  name,
  description,
  tags,
  ...card,
  ...(publishesInput ? { input_schema: fieldsOf(jsonSchema(input)) } : {}),
})

/** The card has the fields alone; that no others are taken stands in `GET /v1/skills/{id}`. */
const fieldsOf = ({ additionalProperties: _, ...fields }: JsonSchema): JsonSchema => fields
