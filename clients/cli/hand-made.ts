import type { Command } from 'commander'
import { thisTerminal } from './live-screen.ts'
import type { Environment } from './options.ts'
import type { RunWithSession } from './session.ts'

type AddCommands = (program: Command, env: Environment, run: RunWithSession) => void

/**
 * Commands that do not follow from the API document, by their first word. Each is loaded only when it
 * is needed: a command starts in half the time.
 */
const PARTS: Record<string, () => Promise<AddCommands>> = {
  health: async () => {
    const { addHealth } = await import('./model-commands.ts')
    return (program, env, run) => addHealth(program, run, () => thisTerminal(env))
  },
  models: async () => {
    const { addModelList } = await import('./model-commands.ts')
    return (program, env, run) => addModelList(program, run, () => thisTerminal(env))
  },
  estop: async () => {
    const { addEstop } = await import('./estop.ts')
    return (program, env, run) => addEstop(program, run, () => thisTerminal(env))
  },
  release: async () => {
    const { addRelease } = await import('./estop.ts')
    return (program, env, run) => addRelease(program, run, () => thisTerminal(env))
  },
  chat: async () => {
    const { addChat } = await import('./chat.ts')
    return (program, _env, run) => addChat(program, run)
  },
  top: async () => {
    const { addTop } = await import('./top.ts')
    return (program, env, run) => addTop(program, run, () => thisTerminal(env))
  },
  gates: async () => {
    const { addGateWatch, promptHere } = await import('./gate-watch.ts')
    return (program, _env, run) => addGateWatch(program, run, promptHere)
  },
  events: async () => {
    const { addEventWatch } = await import('./event-watch.ts')
    return (program, env, run) => addEventWatch(program, run, () => thisTerminal(env))
  },
  sessions: async () => {
    const { addAgentSession } = await import('./agent-session.ts')
    return (program, _env, run) => addAgentSession(program, run)
  },
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  login: async () => (await import('./profile-commands.ts')).addLogin,
  profile: async () => (await import('./profile-commands.ts')).addProfileGroup,
  version: async () => (await import('./versions.ts')).addVersion,
  completion: async () => (await import('./completion.ts')).addCompletion,
  _complete: async () => (await import('./complete.ts')).addComplete,
}

const added = new WeakMap<Command, Set<string>>()

/** Adds the commands whose first word is `word`, or all that are not there yet. */
export const addHandMade = async (
  program: Command,
  word: string | undefined,
  env: Environment,
  run: RunWithSession,
): Promise<void> => {
  const isAll = word === undefined || word === '_complete'
  const wanted = Object.entries(PARTS).filter(([name]) => isAll || word === name)
  for (const [name, load] of wanted)
    if (!added.get(program)?.has(name)) {
      added.set(program, (added.get(program) ?? new Set()).add(name))
      ;(await load())(program, env, run)
    }
}

/** True for a first word of these commands. */
export const isHandMade = (word: string): boolean => Object.hasOwn(PARTS, word)
