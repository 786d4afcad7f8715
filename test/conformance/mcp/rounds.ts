import {
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'
import { text } from './contents.ts'

const codec = createRequestStateCodec<{ round: number }>({ key: 'k'.repeat(32), ttlSeconds: 60 })
export const verifyState = codec.verify

const elicit = (message: string, name: string, type: 'string' | 'boolean' = 'string') =>
  inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [name]: type === 'string' ? { type } : { type } },
      required: [name],
    },
  })
const sample = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: text(question) }],
    maxTokens,
  })

const done = (answer: string) => ({ content: [text(answer)] })

/** What a client answered to one question, when it is an accepted form. */
const readAcceptedForm = (
  { mcpReq }: ServerContext,
  name: string,
): Record<string, unknown> | undefined => {
  const view = inputResponse(mcpReq.inputResponses, name)
  return view.kind === 'elicit' && view.action === 'accept' ? view.content : undefined
}

const kindOf = ({ mcpReq }: ServerContext, name: string): string =>
  inputResponse(mcpReq.inputResponses, name).kind

/** What the request says its client can do. */
const clientCapabilitiesOf = ({ mcpReq }: ServerContext): Record<string, unknown> => {
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined
  return (envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {}) as Record<string, unknown>
}

/** Tools and a prompt that ask the client before they answer. */
export const addRounds = (server: McpServer): void => {
  const tool = (name: string, run: (context: ServerContext) => unknown) =>
    server.registerTool(name, { description: name }, async context => (await run(context)) as never)

  const askName = (context: ServerContext) => {
    const name = readAcceptedForm(context, 'user_name')?.name
    return typeof name === 'string'
      ? done(`Hello, ${name}!`)
      : inputRequired({ inputRequests: { user_name: elicit('What is your name?', 'name') } })
  }
  tool('test_input_required_result_elicitation', askName)
  tool('test_streaming_elicitation', askName)

  const askModel = (context: ServerContext) =>
    kindOf(context, 'capital_question') === 'sampling'
      ? done('the model has answered')
      : inputRequired({
          inputRequests: { capital_question: sample('What is the capital of France?', 100) },
        })
  tool('test_input_required_result_sampling', askModel)
  tool('test_missing_capability', askModel)

  tool('test_input_required_result_list_roots', context => {
    const view = inputResponse(context.mcpReq.inputResponses, 'client_roots')
    return view.kind === 'roots'
      ? done(`roots: ${view.roots.map(root => root.uri).join(', ')}`)
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  })

  const confirm = async (context: ServerContext) =>
    readAcceptedForm(context, 'confirm') !== undefined &&
    context.mcpReq.requestState() !== undefined
      ? done('state-ok')
      : inputRequired({
          inputRequests: { confirm: elicit('Please confirm', 'ok', 'boolean') },
          requestState: await codec.mint({ round: 1 }),
        })
  tool('test_input_required_result_request_state', confirm)
  tool('test_input_required_result_tampered_state', confirm)

  tool('test_input_required_result_multiple_inputs', async context =>
    readAcceptedForm(context, 'user_name') &&
    kindOf(context, 'greeting') === 'sampling' &&
    kindOf(context, 'client_roots') === 'roots'
      ? done('all answered')
      : inputRequired({
          inputRequests: {
            user_name: elicit('What is your name?', 'name'),
            greeting: sample('Generate a greeting', 50),
            client_roots: inputRequired.listRoots(),
          },
          requestState: await codec.mint({ round: 1 }),
        }),
  )

  tool('test_input_required_result_multi_round', async context => {
    const round = context.mcpReq.requestState<{ round: number }>()?.round ?? 0
    if (round === 2 && readAcceptedForm(context, 'step2')) return done('both answered')
    if (round === 1 && readAcceptedForm(context, 'step1'))
      return inputRequired({
        inputRequests: { step2: elicit('Step 2: What is your favorite color?', 'color') },
        requestState: await codec.mint({ round: 2 }),
      })
    return inputRequired({
      inputRequests: { step1: elicit('Step 1: What is your name?', 'name') },
      requestState: await codec.mint({ round: 1 }),
    })
  })

  tool('test_input_required_result_capabilities', context => {
    const can = clientCapabilitiesOf(context)
    return inputRequired({
      inputRequests: {
        ...('elicitation' in can && { user_name: elicit('What is your name?', 'name') }),
        ...('sampling' in can && { greeting: sample('Generate a greeting', 50) }),
      },
    })
  })

  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks for its context.', argsSchema: z.object({}) },
    (_values, context) => {
      const given = readAcceptedForm(context, 'user_context')?.context
      return typeof given === 'string'
        ? { messages: [{ role: 'user' as const, content: text(`Context: ${given}`) }] }
        : inputRequired({
            inputRequests: {
              user_context: elicit('What context should the prompt use?', 'context'),
            },
          })
    },
  )
}
