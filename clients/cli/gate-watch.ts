import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { openLinePrompt } from '../../shared/line-prompt.ts'
import { formatOutput, type PrintableRows } from '../../shared/print.ts'
import { escapeHidden, escapeHiddenInJson } from '../../shared/visible.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { GuidedError } from './describe-failure.ts'
import { indentJson } from './indented-json.ts'
import { limitToLines } from './options.ts'
import { readableRequest } from './readable-answer.ts'
import type { CliSession, RunWithSession } from './session.ts'

/** A request at a gate, as `GET /v1/gates/requests` has it. */
interface GateRequest {
  id: string
  gate_id: string
  requester?: string | null
  requester_id: string
  subject: string
  summary: string
  plan_text: string
  plan_hash: string
  evidence_text: string | null
  /** Reason why the request can never be approved; null when it can. */
  reason: string | null
  approvals_missing: number
  votes: { person_id: string; decision: string }[]
  expires_at: string
}

/** Asks an operator for a decision; absent on a pipe, where requests are only listed. */
interface DecisionPrompt {
  /** The typed line; undefined after Ctrl-C, Ctrl-D or the end of the input, which decide nothing. */
  ask: ((question: string) => Promise<string | undefined>) | undefined
  signal: AbortSignal
  close?: () => void
  wait?: Wait
}

const LOOK_MS = 2000

/** Adds `shoal gate watch`: shows every pending request in full and asks for a decision. */
export const addGateWatch = (
  program: Command,
  withSession: RunWithSession,
  openJudge: () => DecisionPrompt,
): void => {
  const command = program
    .command('gates')
    .command('watch')
    .description('show each pending request of other people in full and decide on it')
    .option('--once', 'show the pending requests once and exit')
    .action(({ once }: { once?: boolean }) =>
      withSession(async session => {
        const prompt = openJudge()
        try {
          await watchGates(session, prompt, once === true)
        } finally {
          // an open terminal would keep the program running
          prompt.close?.()
        }
      }),
    )
  limitToLines(command)
}

export const watchGates = async (
  session: CliSession,
  { ask, signal, wait = realWait }: DecisionPrompt,
  once: boolean,
): Promise<void> => {
  if (ask === undefined && !once && session.format === 'text') throw cannotAsk()
  const seen = new Set<string>()
  while (!signal.aborted) {
    for (const request of await listPending(session)) {
      if (seen.has(request.id)) continue
      seen.add(request.id)
      const lines = session.format === 'json'
      session.write(
        lines ? `${escapeHiddenInJson(JSON.stringify(request))}\n` : describeRequest(request),
      )
      if (ask !== undefined && !lines) await decide(session, request, ask, signal)
    }
    if (once && seen.size === 0 && session.format === 'text')
      session.write('no request of another person is pending\n')
    if (once) return
    await wait(LOOK_MS, signal)
  }
}

const cannotAsk = (): GuidedError =>
  new GuidedError(
    'wrong_usage',
    'gates watch cannot ask for decisions: standard input is not a terminal',
    'add --once to list the pending requests, or --format json to stream them to a program',
  )

/** All pending requests of other people, the oldest first: nobody decides on their own. */
const listPending = async ({ api }: CliSession): Promise<GateRequest[]> => {
  const all: GateRequest[] = []
  let before: string | undefined
  do {
    const query = {
      state: 'pending',
      others: true,
      limit: 200,
      ...(before === undefined ? {} : { before }),
    }
    const answer = await api.call({ method: 'GET', path: '/v1/gates/requests', query })
    const { requests, next } = answer as { requests: GateRequest[]; next: string | null }
    all.push(...requests)
    before = next ?? undefined
  } while (before !== undefined)
  return all.toReversed()
}

/**
 * Everything that a yes approves, with long plans over several lines and control characters
 * escaped.
 */
const describeRequest = (request: GateRequest): string => {
  const votes = request.votes.map(vote => `${vote.person_id} (${vote.decision})`).join(', ')
  const { plan, evidence } = describePlan(request)
  const lines = [
    ['request', request.id],
    ['gate', request.gate_id],
    ['asked by', nameRequester(request)],
    ['summary', request.summary],
    ['plan', plan],
    ['plan hash', request.plan_hash],
    ['evidence', evidence],
    ['votes', votes === '' ? 'none' : votes],
    ['missing', approvals(request.approvals_missing)],
    ['until', request.expires_at],
    ...(request.reason === null ? [] : [['void', request.reason]]),
  ]
  return `\n${lines.map(([name = '', value = '']) => `${name.padEnd(MARGIN - 1)} ${indentValue(name, value)}\n`).join('')}`
}

/** Name and id of the requester; the id alone where the name is not known. */
const nameRequester = ({ requester, requester_id }: GateRequest): string =>
  requester == null ? requester_id : `${escapeHidden(requester)} (${requester_id})`

/** The plan and its evidence: tables for a plan of the coordinator, JSON for any other. */
const describePlan = (request: GateRequest): { plan: string; evidence: string } => {
  const { plan, evidence } = readableRequest({ ...request })
  const { plan_text, evidence_text } = request
  const text = (json: string | null) => (json === null ? 'none' : indentJson(escapeHidden(json)))
  const tables = (value: unknown) => formatOutput(value as PrintableRows, 'text').trimEnd()
  return {
    plan: plan === undefined ? text(plan_text) : tables(plan),
    evidence: evidence === undefined ? text(evidence_text) : tables(evidence),
  }
}

const MARGIN = 11
const MANY_LINES = ['plan', 'evidence']

/** Indents the lines of a value, so that none of them looks like a name. */
const indentValue = (name: string, value: string): string =>
  MANY_LINES.includes(name)
    ? value.replaceAll('\n', `\n${' '.repeat(MARGIN)}`)
    : escapeHidden(value)

const approvals = (count: number): string => `${count} ${count === 1 ? 'approval' : 'approvals'}`

const VERBS = new Map([
  ['a', 'approve'],
  ['approve', 'approve'],
  ['r', 'reject'],
  ['reject', 'reject'],
  ['s', 'skip'],
  ['skip', 'skip'],
])

const decide = async (
  { api, write }: CliSession,
  { id }: GateRequest,
  ask: NonNullable<DecisionPrompt['ask']>,
  signal: AbortSignal,
): Promise<void> => {
  const verb = await askVerb(ask, write, signal)
  if (verb === 'skip') return write('skipped\n')
  const reason = await ask('why? ')
  if (reason === undefined) return write('skipped\n')
  try {
    const path = `/v1/gates/requests/${encodeURIComponent(id)}/${verb}`
    const body = { reason: reason.trim() }
    const after = (await api.call({ method: 'POST', path, body })) as { state: string }
    write(`${after.state === 'blocked' ? 'rejected' : escapeHidden(after.state)}\n`)
  } catch (error) {
    // The request was decided meanwhile; continue with the next one.
    if (!(error instanceof ShoalError) || error.code === 'coordinator_unavailable') throw error
    write(`${escapeHidden(error.message)}\n`)
  }
}

/** Asks until an answer is one of the verbs; the end of the input skips the request. */
const askVerb = async (
  ask: NonNullable<DecisionPrompt['ask']>,
  write: CliSession['write'],
  signal: AbortSignal,
): Promise<string> => {
  while (!signal.aborted) {
    const answer = await ask('approve, reject or skip? [a/r/s] ')
    if (answer === undefined) break
    const verb = VERBS.get(answer.trim().toLowerCase())
    if (verb !== undefined) return verb
    write('please answer a (approve), r (reject) or s (skip)\n')
  }
  return 'skip'
}

/** The person at this terminal, until Ctrl-C or the end of the input. */
export const promptHere = (): DecisionPrompt =>
  process.stdin.isTTY === true
    ? openLinePrompt()
    : { ask: undefined, signal: new AbortController().signal }
