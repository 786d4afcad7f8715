import type { KeyKind } from '../sighting.ts'
import { findService, findText, type RuleSubject } from './subject.ts'

export const ENTITY_TYPES = [
  'cell',
  'server',
  'workstation',
  'phone',
  'printer',
  'printer_3d',
  'router',
  'switch',
  'access_point',
  'camera',
  'television',
  'speaker',
  'sensor',
  'smart_home',
  'storage',
  'robot',
  'drone',
  'llm_server',
  'container',
  'pod',
  'virtual_machine',
  'virtual_address',
  'unknown',
] as const
export type EntityType = (typeof ENTITY_TYPES)[number]

interface TypeRule {
  type: Exclude<EntityType, 'unknown'>
  /** Probability that the type is right when only this rule fits. */
  weight: number
  /** Evidence for people; undefined when the rule does not fit. */
  find: (subject: RuleSubject) => string | undefined
}

const byKey =
  (kind: KeyKind) =>
  ({ keyKinds }: RuleSubject): string | undefined =>
    keyKinds.has(kind) ? `it has a key of kind ${kind}` : undefined
const byText =
  (pattern: RegExp) =>
  (subject: RuleSubject): string | undefined =>
    findText(subject, pattern)
const byService =
  (pattern: RegExp) =>
  (subject: RuleSubject): string | undefined =>
    findService(subject, ({ name }) => pattern.test(name.toLowerCase()))
const byPort =
  (...ports: readonly number[]) =>
  (subject: RuleSubject): string | undefined =>
    findService(subject, ({ port }) => ports.includes(port))

/**
 * What speaks for a type. Names of services are those of the IANA registry of service names and of
 * the makers' own mDNS types.
 */
export const TYPE_RULES: readonly TypeRule[] = [
  { type: 'cell', weight: 0.99, find: byKey('shoal_cell') },
  { type: 'cell', weight: 0.9, find: byText(/^_shoal\._tcp/) },
  { type: 'container', weight: 0.99, find: byKey('container_id') },
  { type: 'pod', weight: 0.95, find: byKey('kubernetes_uid') },
  { type: 'virtual_machine', weight: 0.95, find: byKey('cloud_instance_id') },
  {
    type: 'virtual_machine',
    weight: 0.6,
    // IEEE lists the prefix of VirtualBox under PCS Systemtechnik, and that of Xen under Xensource
    find: byText(/\b(vmware|qemu|virtualbox|xen|kvm|parallels|pcs systemtechnik|xensource)\b/),
  },
  {
    type: 'llm_server',
    weight: 0.9,
    find: byService(/^(ollama|vllm|llama\.?cpp|lm.?studio|tgi|triton)/),
  },
  {
    type: 'llm_server',
    weight: 0.8,
    find: ({ facts }) =>
      facts.models?.length ? `it offers ${facts.models.length} models` : undefined,
  },
  {
    type: 'printer_3d',
    weight: 0.9,
    find: byText(/bambu|prusa|octoprint|klipper|moonraker|3d.?printer/),
  },
  {
    type: 'printer',
    weight: 0.85,
    find: byText(/_(ipp|ipps|printer|pdl-datastream)\._tcp|\bprinter\b|laserjet|officejet/),
  },
  { type: 'printer', weight: 0.7, find: byPort(515, 631, 9100) },
  {
    type: 'router',
    weight: 0.6,
    find: ({ facts }) => (facts.gateway ? 'it is a gateway' : undefined),
  },
  {
    type: 'router',
    weight: 0.8,
    find: byText(/\b(router|routeros|openwrt|fritz!?box|edgeos|pfsense|opnsense)\b/),
  },
  { type: 'switch', weight: 0.8, find: byText(/\b(switch|catalyst|procurve)\b/) },
  { type: 'access_point', weight: 0.8, find: byText(/\b(access.?point|unifi ap|wireless ap)\b/) },
  {
    type: 'access_point',
    weight: 0.85,
    find: ({ facts }) => (facts.wifi_security ? 'it sends a wireless network' : undefined),
  },
  {
    type: 'camera',
    weight: 0.8,
    find: byText(/_(rtsp|axis-video)\._tcp|\b(ipcam|camera|hikvision|dahua|onvif)\b/),
  },
  { type: 'camera', weight: 0.7, find: byPort(554) },
  { type: 'television', weight: 0.8, find: byText(/_androidtvremote|bravia|webos ?tv|\btv\b/) },
  { type: 'speaker', weight: 0.7, find: byText(/_(raop|sonos|spotify-connect)\._tcp|\bspeaker\b/) },
  {
    type: 'phone',
    weight: 0.8,
    find: byText(/\b(iphone|ipad|android|pixel|galaxy)\b|_apple-mobdev/),
  },
  {
    type: 'smart_home',
    weight: 0.7,
    find: byText(/_(hap|hue|shelly|esphomelib|matter|matterc)\._(tcp|udp)|tasmota|shelly/),
  },
  { type: 'sensor', weight: 0.7, find: byText(/bthome|\b(sensor|thermometer|hygrometer)\b/) },
  {
    type: 'storage',
    weight: 0.8,
    find: byText(/_(afpovertcp|adisk)\._tcp|synology|qnap|truenas|\bnas\b/),
  },
  { type: 'robot', weight: 0.8, find: byText(/\b(robot|ros2?|turtlebot|universal robots)\b/) },
  { type: 'drone', weight: 0.85, find: byText(/\b(mavlink|px4|ardupilot|drone|quadcopter)\b/) },
  {
    type: 'workstation',
    weight: 0.7,
    find: byText(/_workstation\._tcp|\b(windows 1[01]|macos|macbook|imac)\b/),
  },
  { type: 'workstation', weight: 0.5, find: byPort(3389) },
  { type: 'server', weight: 0.5, find: byText(/\b(debian|ubuntu|centos|rocky|red hat|linux)\b/) },
  { type: 'server', weight: 0.4, find: byPort(22) },
]
