import { findService, findText, type RuleSubject } from './subject.ts'

/** A circumstance that adds to the risk of a thing. */
interface RiskRule {
  id: string
  /** Points; 10 are low, 25 medium, 50 high, 80 critical. */
  points: number
  /** Reason for people; undefined when the rule does not fit. */
  find: (subject: RuleSubject) => string | undefined
}

const DAY_MS = 86_400_000
/** Time before the end of a certificate from which it counts as expiring. */
const EXPIRING_MS = 14 * DAY_MS

const ADMIN_PORTS = [443, 4443, 8006, 8080, 8443, 9443, 10_000]
/** Names of services that serve models: the kinds that runtime-discover tells apart, and others. */
const LLM_NAMES = new RegExp(
  '^(ollama|vllm|llama[.-]?cpp|lm.?studio|tgi|triton|openai|llm|localai|koboldcpp|' +
    'text-generation-webui|gpustack|xinference|litellm|shoal|docker-model-runner|sglang|lmdeploy|' +
    'lemonade|exo|jan)',
)
const DATA_NAMES = /^(redis|mongodb|elasticsearch|memcached|docker(?!-model-runner))/

const explain = (found: string | undefined, reason: string): string | undefined =>
  found && `${reason}: ${found}`

const expiresIn = ({ facts, now }: RuleSubject): number | undefined =>
  facts.certificate && Date.parse(facts.certificate.expires_at) - now

/** Reasons why a thing needs attention. Points of all that fit add up. */
export const RISK_RULES: readonly RiskRule[] = [
  {
    id: 'open_llm_api',
    points: 50,
    find: subject =>
      explain(
        findService(subject, ({ name, is_open }) => is_open === true && LLM_NAMES.test(name)),
        'a model API answers without credentials',
      ),
  },
  {
    id: 'default_credentials',
    points: 60,
    find: ({ facts }) =>
      facts.default_credentials
        ? 'it accepts default credentials or a default community'
        : undefined,
  },
  {
    id: 'telnet',
    points: 50,
    find: subject =>
      explain(
        findService(subject, ({ port, name }) => port === 23 || name === 'telnet'),
        'telnet sends passwords in clear text',
      ),
  },
  {
    id: 'open_database',
    points: 50,
    find: subject =>
      explain(
        findService(subject, ({ name, is_open }) => is_open === true && DATA_NAMES.test(name)),
        'a data service answers without credentials',
      ),
  },
  {
    id: 'robot_port',
    points: 30,
    find: subject =>
      explain(
        findService(
          subject,
          ({ name, is_open }) => is_open === true && /^(ros|mavlink|rosbridge)/.test(name),
        ),
        'a robot takes commands without credentials',
      ),
  },
  {
    id: 'open_mqtt',
    points: 30,
    find: subject =>
      explain(
        findService(subject, ({ name, is_open }) => is_open === true && name === 'mqtt'),
        'a broker answers without credentials',
      ),
  },
  {
    id: 'open_wifi',
    points: 30,
    find: ({ facts }) =>
      facts.wifi_security === 'open' || facts.wifi_security === 'wep'
        ? `its wireless network is ${facts.wifi_security === 'open' ? 'not encrypted' : 'encrypted with WEP'}`
        : undefined,
  },
  {
    id: 'expired_certificate',
    points: 30,
    find: subject => {
      const left = expiresIn(subject)
      return left !== undefined && left <= 0
        ? `its certificate expired at ${subject.facts.certificate?.expires_at}`
        : undefined
    },
  },
  {
    id: 'expiring_certificate',
    points: 15,
    find: subject => {
      const left = expiresIn(subject)
      return left !== undefined && left > 0 && left < EXPIRING_MS
        ? `its certificate expires at ${subject.facts.certificate?.expires_at}`
        : undefined
    },
  },
  {
    id: 'self_signed_admin',
    points: 15,
    find: subject =>
      subject.facts.certificate?.is_self_signed
        ? explain(
            findService(subject, ({ port }) => ADMIN_PORTS.includes(port)),
            'an administration port has a self-signed certificate',
          )
        : undefined,
  },
  {
    id: 'ftp',
    points: 15,
    find: subject =>
      explain(
        findService(subject, ({ port, name }) => port === 21 || name === 'ftp'),
        'FTP sends passwords in clear text',
      ),
  },
  {
    id: 'end_of_life',
    points: 30,
    find: subject =>
      explain(
        findText(
          subject,
          /windows (xp|7|8|server 2008|server 2012)|debian [4-9]\b|ubuntu 1[0-8]\./,
        ),
        'its system gets no more updates',
      ),
  },
  {
    id: 'new_device',
    points: 10,
    find: ({ age_ms }) =>
      age_ms !== undefined && age_ms < DAY_MS
        ? 'it was first seen in the last 24 hours'
        : undefined,
  },
]
