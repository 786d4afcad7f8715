import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { answerQuestion, systemMessages } from './chat-answer.ts'
import { findChatModel } from './chat-model.ts'
import { type ChatTools, type ConfirmCall, openChatTools } from './chat-tools.ts'
import { AUTO_MODEL, listChatModels } from './known-ids.ts'
import { limitToLines } from './options.ts'
import type { OpenSession, RunWithSession } from './session.ts'

interface ChatOptions {
  model: string
  system?: string
  tools?: true
  allowChanges?: true
}

/** Adds `shoal chat`: one question, or a session at a terminal. */
export const addChat = (program: Command, run: RunWithSession): void => {
  const command = program
    .command('chat')
    .argument('[text...]', 'message, or - for standard input; without one, a session starts')
    .description('ask a model and stream its answer, or begin a session')
    .option('--model <id>', 'model to ask; auto lets the coordinator choose', AUTO_MODEL)
    .option('--system <text>', 'instructions to the model')
    .option('--tools', 'let the model find and call the tools that the key may use')
    .option('--allow-changes', 'with --tools, also make calls that may change something')
    .addHelpText('after', HELP)
    .action((words: string[], options: ChatOptions) =>
      run(session => chat(session, words, options)),
    )
  limitToLines(command)
}

const HELP = `
Examples:
  shoal chat 'What is a cell?'
  dmesg | shoal chat explain the last error: -
  shoal chat --system 'Answer in one sentence.'
  shoal chat --tools 'Which cells are short of memory?'

With --tools, calls that only read are made at once. A session asks before any other call; a single
question makes such calls with --allow-changes only. Gates apply in any case. The bundled models are
demonstrations and answer with nonsense here: --tools needs a model of your own (shoal models add).`

const chat = async (
  session: OpenSession,
  words: readonly string[],
  { model: wanted, system, tools: hasTools, allowChanges }: ChatOptions,
): Promise<void> => {
  const openTools = (confirm: ConfirmCall): Promise<ChatTools> | undefined =>
    hasTools && openChatTools(session, allowChanges ? async () => true : confirm)
  if (words.length === 0 && process.stdin.isTTY === true) {
    requireText(session)
    const model = await findModel(session, wanted)
    const { runChatSession } = await import('./chat-session.ts')
    const { openChatTerminal } = await import('./chat-terminal.ts')
    const terminal = openChatTerminal()
    const confirm = (call: string) => terminal.confirm(`call ${call}?`)
    return runChatSession(session, { model, system, tools: await openTools(confirm) }, terminal)
  }
  const model = await findModel(session, wanted)
  const content = await readMessage(words)
  const messages = [...systemMessages(system), { role: 'user' as const, content }]
  const tools = await openTools(async call => {
    session.hint(`not called: ${call}; --allow-changes allows calls that change something`)
    return false
  })
  await answerQuestion(session, { model, messages, tools })
  if (session.format === 'text') session.write('\n')
}

/** A wrong model fails once at the start, and not with each message. */
const findModel = async ({ api }: OpenSession, wanted: string): Promise<string> =>
  wanted === AUTO_MODEL ? wanted : findChatModel(await listChatModels(api), wanted)

const requireText = ({ format }: OpenSession): void => {
  if (format !== 'text')
    throw new ShoalError('wrong_usage', 'a session has no --format json: give the message as words')
}

/** Message from the words; a last word `-`, and no words at all, stand for standard input. */
const readMessage = async (words: readonly string[]): Promise<string> => {
  const isPiped = words.length === 0 || words.at(-1) === '-'
  const typed = (words.at(-1) === '-' ? words.slice(0, -1) : words).join(' ')
  const piped = isPiped ? await readPiped(process.stdin) : ''
  const message = [typed, piped.trim()].filter(part => part !== '').join('\n\n')
  if (message === '') throw new ShoalError('wrong_usage', 'the message is empty')
  return message
}

/** Longest piped text; a coordinator accepts less. */
const MAX_CHARS = 8 * 1024 * 1024

const readPiped = async (input: NodeJS.ReadStream): Promise<string> => {
  input.setEncoding('utf8')
  let text = ''
  for await (const piece of input) {
    text += piece
    if (text.length > MAX_CHARS)
      throw new ShoalError('payload_too_large', 'the text on standard input is too long')
  }
  return text
}
