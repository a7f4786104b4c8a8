import { type HostileCase, head, hostile, invoke } from "./hostile-case.ts";

const GOOD = '{"tool_id":"echo","parameters":{}}';

const refused = [
  "text/plain",
  "text/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/xml",
  "application/octet-stream",
  "application/jsonp",
  "application/json-patch",
  "application",
  "json",
  "*/*",
  "application/*",
  "application/json, text/plain",
  "text/plain; a=application/json",
  "application/json; charset=latin1",
  "application/json; charset=utf-16",
  'application/json; charset="iso-8859-1"',
  "application/json; charset=utf-8; charset=latin1",
  ";",
];

const taken = ["application/json;charset=UTF-8", "APPLICATION/JSON", "application/vnd.sallyport+json"];

/** Bodies that say they are something else than JSON in UTF-8. */
export const MEDIA_TYPES: HostileCase[] = [
  ...refused.map((type) =>
    hostile(`type: ${JSON.stringify(type)}`, invoke(GOOD, `Content-Type: ${type}`), 415, "E3932"),
  ),
  ...taken.map((type) => hostile(`type: ${type}, which is fine`, invoke(GOOD, `Content-Type: ${type}`), 200)),
  hostile(
    "type: none",
    head("POST /v1/tools/invoke", [`Content-Length: ${GOOD.length}`]).concat(GOOD),
    415,
    "E3932",
  ),
  hostile(
    "type: one with a control character",
    invoke(GOOD, "Content-Type: application/json\x01"),
    400,
    "E3903",
  ),
  hostile("type: an empty one", invoke(GOOD, "Content-Type: "), 415, "E3932"),
];
