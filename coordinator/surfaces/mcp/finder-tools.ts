import type { Tool } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { parseInput } from '../../calls/invoke/input.ts'
import { type JsonSchema, jsonSchema } from '../../kernel/declaration/json-schema.ts'
import { CALL_KEY_FIELD, CallKeyField } from './call-extras.ts'
import type { FoundTools, ToolFinder } from './tool-finder.ts'

/** Names of the tools that find and call all others. */
export const FIND_TOOLS = 'find-tools'
export const CALL_TOOL = 'call-tool'

const FindInput = z.strictObject({
  query: z.string().min(1).max(300).describe('Words for what the tool should do.'),
  group: z.string().max(64).exactOptional().describe('Group of tools to search in.'),
  limit: z.int().min(1).max(20).default(6).describe('Maximum number of tools to return.'),
})
const FindOutput = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      effect: z.enum(['read', 'write', 'gated']),
      input_schema: z.record(z.string(), z.json()),
    }),
  ),
  total: z.int(),
  groups: z.array(z.string()),
})
const CallInput = z.strictObject({
  name: z.string().min(1).max(128).describe('Name of the tool, as find-tools returned it.'),
  arguments: z.record(z.string(), z.unknown()).default({}).describe('Its arguments.'),
  [CALL_KEY_FIELD]: CallKeyField,
})

type FindQuery = z.output<typeof FindInput>

const createTool = (tool: Omit<Tool, 'inputSchema'> & { inputSchema: JsonSchema }): Tool =>
  tool as Tool

/** Definitions of the two tools, as a list shows them. */
export const FINDER_TOOLS: readonly Tool[] = [
  createTool({
    name: FIND_TOOLS,
    title: 'Find tools',
    description:
      'Search the tools of shoal by what they do. Returns their names, effects and input schemas.',
    inputSchema: jsonSchema(FindInput),
    outputSchema: jsonSchema(FindOutput) as NonNullable<Tool['outputSchema']>,
    annotations: { readOnlyHint: true, openWorldHint: false },
  }),
  createTool({
    name: CALL_TOOL,
    title: 'Call a tool',
    description:
      'Call a tool by the name that find-tools returned. A gated tool waits for approval by people.',
    inputSchema: jsonSchema(CallInput),
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
  }),
]

/** Finds tools for a caller. Throws `invalid_request`. */
export const findTools = (
  finder: ToolFinder,
  given: unknown,
): FoundTools & { groups: readonly string[] } => {
  const { query, ...options } = parseInput({ input: FindInput }, given) as FindQuery
  return { ...finder.find(query, options), groups: finder.groups }
}

/** Reads the arguments of call-tool. Throws `invalid_request`. */
export const parseToolCall = (given: unknown): z.output<typeof CallInput> =>
  parseInput({ input: CallInput }, given) as z.output<typeof CallInput>
