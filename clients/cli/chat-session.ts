import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { escapeHidden, escapeHiddenInText } from '../../shared/visible.ts'
import { answerQuestion, type ChatMessage, systemMessages } from './chat-answer.ts'
import { findChatModel } from './chat-model.ts'
import type { ChatTerminal } from './chat-terminal.ts'
import type { ChatTools } from './chat-tools.ts'
import { GuidedError } from './describe-failure.ts'
import { listChatModels } from './known-ids.ts'
import { nextStep } from './next-step.ts'
import type { OpenSession } from './session.ts'

/** Model, instructions and history that the next question is sent with. */
interface ChatState {
  model: string
  system: string | undefined
  /** Tools of the coordinator; undefined for a model that calls none. */
  tools: ChatTools | undefined
  /** Questions and answers so far. */
  messages: ChatMessage[]
}

const PROMPT = '> '
const CONTINUED = '. '
/** Begins and ends a message of several lines. */
const QUOTES = '"""'

/** Asks for messages and streams the answers until Ctrl-D or `/exit`. */
export const runChatSession = async (
  session: OpenSession,
  start: Omit<ChatState, 'messages'>,
  terminal: ChatTerminal,
): Promise<void> => {
  const state: ChatState = { ...start, messages: [] }
  session.write(
    `${escapeHidden(start.model)} at ${session.settings.url}; /help lists the commands\n`,
  )
  try {
    for (;;) {
      const message = await readMessage(terminal)
      if (message === undefined) return session.write('\n')
      if (message.trim() === '') continue
      const isOver = await respond(session, state, message, terminal)
      if (isOver) return
    }
  } finally {
    terminal.close()
  }
}

/** A line, lines that end with a backslash and the one after, or lines between three quotes. */
const readMessage = async ({ readLine }: ChatTerminal): Promise<string | undefined> => {
  const first = await readLine(PROMPT)
  if (first === undefined) return undefined
  const isQuoted = first.trimStart().startsWith(QUOTES)
  const lines = [isQuoted ? first.trimStart().slice(QUOTES.length) : first]
  const isOpen = (): boolean => {
    const last = lines.at(-1) ?? ''
    return isQuoted ? !last.trimEnd().endsWith(QUOTES) : last.endsWith('\\')
  }
  while (isOpen()) {
    const next = await readLine(CONTINUED)
    // the end of the input sends nothing that is unfinished
    if (next === undefined) return undefined
    lines.push(next)
  }
  const text = lines.join('\n')
  return isQuoted ? text.trimEnd().replace(/"""$/, '').trim() : text.replaceAll('\\\n', '\n')
}

const COMMAND = /^\/([a-z]+)(?:\s+(.*))?$/s

/** Carries out a command or asks the model; true when the session is over. */
const respond = async (
  session: OpenSession,
  state: ChatState,
  message: string,
  terminal: ChatTerminal,
): Promise<boolean> => {
  const [, name, rest = ''] = COMMAND.exec(message.trim()) ?? []
  try {
    if (name === undefined) await askModel(session, state, message, terminal)
    else if (LEAVING.includes(name)) return true
    else await obey(session, state, name, rest.trim())
  } catch (error) {
    if (!(error instanceof ShoalError) || ENDING.includes(error.code)) throw error
    session.write(`${describeError(error, session)}\n`)
  }
  return false
}

const LEAVING = ['exit', 'quit', 'bye']

/** Errors that no other message of the session avoids. */
const ENDING: readonly ErrorCode[] = ['auth_required', 'tenant_forbidden']

const describeError = (error: ShoalError, { settings }: OpenSession): string => {
  const step = stepOf(error, settings)
  const said = `${escapeHidden(error.message)} (${error.code})`
  return step === undefined ? said : `${said}\n${step}`
}

const stepOf = (error: ShoalError, settings: OpenSession['settings']): string | undefined => {
  if (error instanceof GuidedError) return error.step
  return error.code === 'context_length_exceeded' ? CLEAR_STEP : nextStep(error, settings)
}

const CLEAR_STEP = '/clear deletes the conversation so far'

/** An answer that is interrupted or fails leaves only what arrived of it in the conversation. */
const askModel = async (
  session: OpenSession,
  state: ChatState,
  content: string,
  { whileInterruptible }: ChatTerminal,
): Promise<void> => {
  const question: ChatMessage = { role: 'user', content }
  const { signal, abort } = createAbort()
  const messages = [...systemMessages(state.system), ...state.messages, question]
  const { model, tools } = state
  const answering = answerQuestion(session, { model, messages, tools, signal })
  const answer = await whileInterruptible(abort, answering)
  session.write(signal.aborted ? '\ninterrupted\n' : '\n')
  const isEmpty = answer.every(({ content }) => content === '')
  if (!isEmpty || signal.aborted) state.messages.push(question, ...answer)
}

const createAbort = (): { signal: AbortSignal; abort: () => void } => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

const HELP = `/model [ID]     show the models, or change to one; the beginning of its id is enough
/system [TEXT]  show the instructions to the model, or change them; - removes them
/history        show the conversation
/clear          forget the conversation
/exit           end the session, as Ctrl-D does

""" begins and ends a message of several lines; a backslash at the end of a line continues it.
Ctrl-C ends an answer. The conversation is not stored.
`

const obey = async (
  session: OpenSession,
  state: ChatState,
  name: string,
  rest: string,
): Promise<void> => {
  const { write } = session
  if (name === 'help') return write(HELP)
  if (name === 'model') return changeModel(session, state, rest)
  if (name === 'system') {
    if (rest !== '') state.system = rest === '-' ? undefined : rest
    return write(
      `instructions: ${state.system === undefined ? 'none' : escapeHiddenInText(state.system)}\n`,
    )
  }
  if (name === 'history') return write(formatHistory(state))
  if (name === 'clear') {
    state.messages = []
    return write('the conversation was deleted\n')
  }
  write(`there is no command /${name}; /help lists the commands\n`)
}

const formatHistory = ({ messages }: ChatState): string =>
  messages.length === 0
    ? 'the conversation is empty\n'
    : messages
        .map(message => `${message.role}: ${escapeHiddenInText(describeMessage(message))}\n`)
        .join('')

const describeMessage = (message: ChatMessage): string => {
  if (message.role !== 'assistant') return message.content
  const calls = message.tool_calls?.map(({ function: { name } }) => `calls ${name}`) ?? []
  return [message.content, ...calls].filter(text => text !== '').join(' ') || 'interrupted'
}

const changeModel = async (
  { api, write }: OpenSession,
  state: ChatState,
  wanted: string,
): Promise<void> => {
  const ids = await listChatModels(api)
  if (wanted !== '') state.model = findChatModel(ids, wanted)
  write(ids.map(id => `${id === state.model ? '*' : ' '} ${escapeHidden(id)}\n`).join(''))
}
