import { ShoalError } from '../../../shared/errors.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Key } from '../../kernel/declaration/key.ts'
import type { SpeakingSkill } from './choose.ts'
import type { Conversation, Message, Participant } from './conversation.ts'

/** Sender of a message; every request that results from the message uses this key. */
export interface ConversationCaller {
  key: Key | undefined
  tenantId: string | undefined
  actor: Actor
  requestId: string
  /** Aborts when the caller disconnects. */
  signal: AbortSignal
}

/** Returns the caller's key. Throws `auth_required` without one. */
export const callerKey = ({ key }: Pick<ConversationCaller, 'key'>): Key => {
  if (key === undefined) throw new ShoalError('auth_required', 'this needs a key')
  return key
}

/** One participant's turn. */
export interface SpeakerTurn {
  conversation: Conversation
  participant: Participant
  /** Newest messages, oldest first; the last one is to be answered. */
  messages: readonly Message[]
  /** Text that contains the input of a skill. */
  argument: string | undefined
  /** Aborts when the caller disconnects or the time is up. */
  signal: AbortSignal
  /** Receives each piece of an answer; a promise resolves when the reader can take more. */
  delta: (text: string) => Promise<void> | void
}

export interface SpeakerReply {
  content: string
  /** Reason for an answer that reports a failed call; absent for others. */
  failure?: string
  /** Tokens used; 0 for all participants but models. */
  tokens: number
}

/** Runs the turns of participants; `C` is the caller that skills require. */
export interface Speakers<C extends ConversationCaller> {
  /**
   * Throws when a participant is not valid, such as an unknown model or skill or a refused address.
   * The `param` of the error is a member of the participant, or `model`.
   */
  admit(participant: Participant, caller: C): void
  /** Throws when the participant cannot answer now, as far as that is known in advance. */
  ready(participant: Participant, caller: C): void | Promise<void>
  /** Throws ShoalError when the participant does not answer. */
  speak(turn: SpeakerTurn, caller: C): Promise<SpeakerReply>
  /** Throws `forbidden` unless the caller may see the answers of this skill. */
  requireSkill(id: string, caller: C): void
  skill(id: string): SpeakingSkill | undefined
}
