import { ShoalError } from '../../shared/errors.ts'
import type { Actor } from '../audit/audit.ts'
import type { Key } from '../keys/key.ts'
import type { SkillFacts } from './choose.ts'
import type { Conversation, Message, Participant } from './conversation.ts'

/** Who sends a message: everything that is asked because of it is asked with this key. */
export interface Caller {
  key: Key | undefined
  tenantId: string | undefined
  actor: Actor
  requestId: string
  /** Aborts when the caller has left. */
  signal: AbortSignal
}

/** Throws `auth_required` without one. */
export const callerKey = ({ key }: Pick<Caller, 'key'>): Key => {
  if (key === undefined) throw new ShoalError('auth_required', 'this needs a key')
  return key
}

/** One participant's turn. */
export interface Turn {
  conversation: Conversation
  participant: Participant
  /** The newest messages, oldest first; the last one is what is answered. */
  messages: readonly Message[]
  /** Of a skill: the text that holds its input. */
  argument: string | undefined
  /** Aborts when the caller has left or the time is up. */
  signal: AbortSignal
  /** Told the pieces of an answer as they come. */
  delta: (text: string) => void
}

export interface Said {
  content: string
  /** What it took; 0 for all but models. */
  tokens: number
}

/** How participants are brought to speak; `C` is what a skill needs of its caller. */
export interface Speakers<C extends Caller> {
  /**
   * Throws where a participant cannot be one: no such model, no such skill, an address. The `param`
   * of the error is a member of the participant, or `model`.
   */
  admit(participant: Participant, caller: C): void
  /** Throws what keeps it from answering now, as far as that is known beforehand. */
  ready(participant: Participant, caller: C): void | Promise<void>
  /** Throws ShoalError where there is no answer. */
  speak(turn: Turn, caller: C): Promise<Said>
  /** Throws `forbidden` unless the caller may see what this skill answers. */
  requireSkill(id: string, caller: C): void
  skill(id: string): SkillFacts | undefined
}
