/** How far a client has read: an event's number, in the run of the process that counted it. */
export interface Place {
  epoch: string;
  number: number;
}

/** Counts the events that are made from the record, when there is no feed any more. */
export const RECORD_EPOCH = "record";

/** Where a client says it left off; an id of nobody's making is a place that no feed has. */
export function placeOf(lastEventId: string | undefined): Place | undefined {
  if (lastEventId === undefined || lastEventId === "") return undefined;
  const [, epoch = "", digits = ""] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(lastEventId) ?? [];
  return { epoch, number: Number(digits || -1) };
}
