import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { escapeHiddenInJson, escapeHiddenInText } from '../../shared/visible.ts'
import type { ChatCompletionChunk } from '../../shared/wire/openai.ts'
import { openChatTerminal } from './chat-terminal.ts'
import { limitToLines } from './options.ts'
import type { OpenSession, RunWithSession } from './session.ts'

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

interface ChatOptions {
  model: string
  system?: string
}

/** The coordinator chooses the model: the smallest that is sure of its answer. */
const AUTO_MODEL = 'auto'

/** Adds `shoal chat`: one question, or a session at a terminal. */
export const addChat = (program: Command, run: RunWithSession): void => {
  const command = program
    .command('chat')
    .argument('[text...]', 'message, in which - stands for standard input; none begins a session')
    .description('ask a model and stream its answer, or begin a session')
    .option('--model <id>', 'model to ask; auto lets the coordinator choose', AUTO_MODEL)
    .option('--system <text>', 'instructions to the model')
    .addHelpText('after', HELP)
    .action((words: string[], options: ChatOptions) =>
      run(session => chat(session, words, options)),
    )
  limitToLines(command)
}

const HELP = `
Examples:
  shoal chat what is a cell
  dmesg | shoal chat explain the last error: -
  shoal chat --system 'Answer in one sentence.'`

const chat = async (
  session: OpenSession,
  words: readonly string[],
  { model, system }: ChatOptions,
): Promise<void> => {
  if (words.length === 0 && process.stdin.isTTY === true) {
    requireText(session)
    const { runChatSession } = await import('./chat-session.ts')
    return runChatSession(session, { model, system }, openChatTerminal())
  }
  const content = await readMessage(words)
  const messages = [...systemMessages(system), { role: 'user' as const, content }]
  await streamAnswer(session, { model, messages })
  if (session.format === 'text') session.write('\n')
}

const requireText = ({ format }: OpenSession): void => {
  if (format !== 'text')
    throw new ShoalError('wrong_usage', 'a session has no --format json: give the message as words')
}

export const systemMessages = (system: string | undefined): ChatMessage[] =>
  system === undefined ? [] : [{ role: 'system', content: system }]

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

interface Question {
  model: string
  messages: readonly ChatMessage[]
  /** Ends the answer, which then is what arrived before. */
  signal?: AbortSignal
}

/** Asks a model, writes its answer while it arrives, and returns the text. */
export const streamAnswer = async (
  { api, format, write, progress }: OpenSession,
  { model, messages, signal }: Question,
): Promise<string> => {
  // greedy: small models wander off when they are sampled
  const body = { model, stream: true, temperature: 0, messages }
  progress.show(`waiting for ${model}`)
  let text = ''
  try {
    for await (const chunk of api.stream('/v1/chat/completions', body, signal)) {
      progress.clear()
      const piece = (chunk as ChatCompletionChunk).choices[0]?.delta.content ?? ''
      text += piece
      write(
        format === 'json'
          ? `${escapeHiddenInJson(JSON.stringify(chunk))}\n`
          : escapeHiddenInText(piece),
      )
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error
  } finally {
    progress.clear()
  }
  return text
}
