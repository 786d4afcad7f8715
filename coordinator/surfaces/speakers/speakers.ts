import { ShoalError } from '../../../shared/errors.ts'
import { judgeAnswer } from '../../../shared/success-rule.ts'
import type { SpeakingSkill } from '../../agents/conversations/choose.ts'
import type { Participant } from '../../agents/conversations/conversation.ts'
import { findLeadingObject } from '../../agents/conversations/mention.ts'
import type { RemoteAgents } from '../../agents/conversations/remote-agent.ts'
import {
  callerKey,
  type SpeakerReply,
  type Speakers,
  type SpeakerTurn,
} from '../../agents/conversations/speaker.ts'
import { transcript } from '../../agents/conversations/transcript.ts'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { SkillFacts as DeclaredSkill } from '../../kernel/declaration/declaration.ts'
import { bodyOf, type Outcome } from '../../kernel/declaration/outcome.ts'
import type { PendingResult } from '../../kernel/declaration/pending-result.ts'
import { listSecretFields } from '../../kernel/declaration/secret-fields.ts'
import { parseJsonBody } from '../http/json-body.ts'
import { createModelSpeaker, type ModelSpeakerParts } from './model-speaker.ts'

interface SpeakerParts extends ModelSpeakerParts {
  skills: readonly DeclaredSkill[]
  agents: RemoteAgents
  pipeline: Pick<Pipeline, 'authorize'>
}

/** A conversation cannot call this skill: it would wait for itself. */
const CONVERSATION_SKILL = 'multi-agent-conversation'
const AGENT_TEXT_CHARS = 64_000

/**
 * Creates the speakers of a conversation: models over the inference plane, skills as on any
 * surface, external agents over A2A. All calls use the key of the message's sender.
 */
export const createSpeakers = (parts: SpeakerParts): Speakers<Context> => {
  const { agents, pipeline } = parts
  const skills = new Map(parts.skills.map(skill => [skill.id, skill]))
  const models = createModelSpeaker(parts)

  const admitSkill = ({ id }: Participant, context: Context): void => {
    const skill = skills.get(id)
    if (skill === undefined) throw createRequestError(`no skill ${id}`)
    if (id === CONVERSATION_SKILL)
      throw createRequestError(`${id} cannot take part in a conversation`)
    const [secret] = listSecretFields(skill.input)
    if (secret !== undefined)
      throw createRequestError(
        `${id} cannot take part in a conversation: its messages are stored, and ${secret} is secret`,
      )
    pipeline.authorize(skill, context)
  }
  const admitAgent = ({ id, url }: Participant): void => {
    if (url === undefined)
      throw createRequestError(`agent ${id} needs the url of its agent card`, 'url')
    agents.admit(url)
  }

  const speakSkill = async (
    { participant, argument, signal }: SpeakerTurn,
    { callSkill }: Context,
  ): Promise<SpeakerReply> => {
    const outcome = await callSkill(participant.id, { input: inputOf(argument), ends: signal })
    if (outcome.kind === 'pending') return { content: waits(outcome.pending), tokens: 0 }
    const said = { content: JSON.stringify(bodyOf(outcome)), tokens: 0 }
    const failure = describeFailure(skills.get(participant.id), outcome)
    return failure === undefined ? said : { ...said, failure }
  }

  const speakAgent = async ({ conversation, participant, messages, signal }: SpeakerTurn) => {
    const text = transcript(conversation, messages, AGENT_TEXT_CHARS)
    return { content: await agents.ask(participant.url ?? '', text, signal), tokens: 0 }
  }

  return {
    admit: (participant, context) => {
      const { id, type, url } = participant
      if (url !== undefined && type !== 'agent')
        throw createRequestError(`${id}: only agents have a url`, 'url')
      if (type === 'model') models.admit(id, callerKey(context))
      if (type === 'skill') admitSkill(participant, context)
      if (type === 'agent') admitAgent(participant)
    },
    ready: (participant, context) => {
      if (participant.type === 'model') return models.ready(participant.id, callerKey(context))
      if (participant.type === 'agent') admitAgent(participant)
      return undefined
    },
    speak: (turn, context) => {
      if (turn.participant.type === 'model') return models.speak(turn, context)
      if (turn.participant.type === 'skill') return speakSkill(turn, context)
      return speakAgent(turn)
    },
    requireSkill: (id, context) => {
      const skill = skills.get(id)
      if (skill !== undefined) pipeline.authorize(skill, context)
    },
    skill: id => {
      const skill = skills.get(id)
      return skill && factsOf(skill)
    },
  }
}

const factsOf = ({ id, name, description, effect, input }: DeclaredSkill): SpeakingSkill => ({
  id,
  name,
  description,
  reads: effect === 'read',
  needsNothing: input.safeParse({}).success,
})

/** Why the answer of a skill is a failure; undefined for others, and for a task it began. */
const describeFailure = (
  skill: DeclaredSkill | undefined,
  outcome: Outcome,
): string | undefined => {
  if (skill === undefined || outcome.kind !== 'done') return undefined
  const { kind, value } = judgeAnswer(outcome.output, skill.success)
  return kind === 'failed' || kind === 'unknown' ? `${skill.id} is ${value}` : undefined
}

/** The JSON object behind the name; none is no input. */
const inputOf = (argument: string | undefined): unknown => {
  const text = findLeadingObject(argument ?? '')
  return text === undefined ? {} : parseJsonBody(Buffer.from(text))
}

const waits = ({ view }: PendingResult): string =>
  `Not done: ${view.summary}. Approval is pending at ${view.gate_id} until ${view.expires_at}, ` +
  `request ${view.request_id}; ${view.next}.`

const createRequestError = (message: string, param = 'id'): ShoalError =>
  new ShoalError('invalid_request', message, { param })
