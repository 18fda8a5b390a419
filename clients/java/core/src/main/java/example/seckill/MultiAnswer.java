package example.seckill;

import java.nio.charset.Charset;
import java.util.List;

/**
 * The reply to MGRAB: units of all sales, or of none.
 *
 * @param outcome GRANTED, REPLAY or REFUSED
 * @param req the REQ of the call
 * @param grants one for each distinct key, in order of first mention; empty if it was refused
 * @param index index of the first refusing sale, from 0, or null
 * @param refusal its answer, or null
 * @param lost as in {@link Answer}
 * @param durable as in {@link Answer}, of all grants
 */
public record MultiAnswer(String outcome, String req, List<Answer> grants, Integer index,
        Answer refusal, int lost, Boolean durable) {

    /** Whether the user has the units of all sales. */
    public boolean won() {
        return refusal == null && grants.stream().allMatch(Answer::won);
    }

    static MultiAnswer of(Object reply, Charset charset) {
        List<?> words = Reply.list(reply);
        String word = Reply.text(Reply.at(words, 0), charset);
        if ("REFUSED".equals(word)) {
            Answer refusal = Answer.of(Reply.at(words, 2), charset);
            return new MultiAnswer(word, "", List.of(), (int) Reply.number(words.get(1)), refusal, 0,
                    null);
        }
        Outcome outcome = Reply.word(Outcome.class, word, charset);
        Reply.at(words, 1);
        List<Answer> grants = words.stream().skip(1)
                // Each row has the elements of GRAB's reply after the first word.
                .map(row -> Answer.of(outcome, Reply.list(row), charset)).toList();
        return new MultiAnswer(word, "", grants, null, null, 0, null);
    }

    MultiAnswer told(String withReq, int lostAttempts, Boolean isDurable) {
        return new MultiAnswer(outcome, withReq, grants, index, refusal, lostAttempts, isDurable);
    }

    boolean isSame(MultiAnswer other) {
        if (grants.size() != other.grants.size()) {
            return false;
        }
        for (int at = 0; at < grants.size(); at++) {
            if (!grants.get(at).isSame(other.grants.get(at))) {
                return false;
            }
        }
        return true;
    }
}
